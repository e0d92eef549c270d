import { afterAll, describe, expect, it } from "vitest";
import { validationLimits } from "../../packages/server/src/validation/limits.ts";
import { CodeAndDataValidation } from "../../packages/server/src/validation/validation.ts";
import { readTable } from "./tables.ts";

const validation = new CodeAndDataValidation();
afterAll(() => validation[Symbol.asyncDispose]());

interface Row {
  name: string;
  csv: string;
  required: string[];
  types: Record<string, string>;
  rows: number;
  /** `row:column rule`, a column by its number. */
  errors: string[];
  lines?: number[];
}

describe("[VAL-04] CSV", () => {
  it.each(readTable<Row>("csv"))("$name", async ({ csv, required, types, rows, errors, lines }) => {
    const result = await validation.csv({ csv, requiredHeaders: required, typeConstraints: types });
    expect(result.errors.map(({ row, columnNumber, rule }) => `${row}:${columnNumber ?? "-"} ${rule}`)).toEqual(errors);
    expect([result.rows, result.valid]).toEqual([rows, errors.length === 0]);
    if (lines !== undefined) expect(result.errors.map(({ line }) => line)).toEqual(lines);
  });

  it("names the column and the value of an error", async () => {
    const { errors } = await validation.csv({
      csv: "id,age\n1,old\n",
      requiredHeaders: [],
      typeConstraints: { age: "int" },
    });
    expect(errors).toEqual([
      { rule: "type", message: '"old" is no int', row: 2, line: 2, column: "age", columnNumber: 2, value: "old" },
    ]);
  });

  it("has as many errors as a result tells, and their number", async () => {
    const csv = `a\n${"x\n".repeat(validationLimits.errors + 7)}`;
    const { errors, errorCount, truncated } = await validation.csv({
      csv,
      requiredHeaders: [],
      typeConstraints: { a: "int" },
    });
    expect([errors.length, errorCount, truncated]).toEqual([
      validationLimits.errors,
      validationLimits.errors + 7,
      true,
    ]);
  });

  it("of an unknown type is refused with those that there are", async () => {
    const asked = validation.csv({ csv: "a\n1", requiredHeaders: [], typeConstraints: { a: "colour" } });
    await expect(asked).rejects.toMatchObject({ code: "invalid", hint: expect.stringContaining("str, int, float") });
    const inherited = validation.csv({ csv: "a\n1", requiredHeaders: [], typeConstraints: { a: "constructor" } });
    await expect(inherited).rejects.toMatchObject({ code: "invalid" });
  });

  it("of 10 MB is answered", async () => {
    const csv = `a,b\n${"1,x\n".repeat(2_500_000)}`;
    const asked = validation.csv({ csv, requiredHeaders: ["a"], typeConstraints: { a: "int" } });
    const answer = await asked.catch((error: unknown) => error);
    expect(answer).toSatisfy(
      (value: { rows?: number; code?: string }) => value.rows === 2_500_000 || value.code === "timeout",
    );
  });

  it("that is too large or not UTF-8 is refused", async () => {
    const ask = (csv: string | Uint8Array) => validation.csv({ csv, requiredHeaders: [], typeConstraints: {} });
    await expect(ask("x".repeat(validationLimits.csvBytes + 1))).rejects.toMatchObject({ code: "too_large" });
    await expect(ask(Uint8Array.of(0x61, 0xff))).rejects.toMatchObject({ code: "invalid" });
  });

  it("made of quotes or line ends alone is answered", async () => {
    for (const csv of ['"'.repeat(1_000_001), '"\n'.repeat(300_000), "\r".repeat(1_000_000)])
      expect(await validation.csv({ csv, requiredHeaders: [], typeConstraints: {} })).toHaveProperty("rows");
  });

  it("of more columns than a table has is refused", async () => {
    const many = Array.from({ length: validationLimits.columns + 1 }, (_, at) => `c${at}`);
    const asked = [
      { csv: ",".repeat(1_000_000), requiredHeaders: [], typeConstraints: {} },
      { csv: "a", requiredHeaders: many, typeConstraints: {} },
      { csv: "a", requiredHeaders: [], typeConstraints: Object.fromEntries(many.map((name) => [name, "int"])) },
    ];
    for (const input of asked) await expect(validation.csv(input)).rejects.toMatchObject({ code: "too_large" });
  });
});
