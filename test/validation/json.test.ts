import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import { AppError } from "../../packages/server/src/core/errors.ts";
import type { JsonSchema, SchemaName } from "../../packages/server/src/core/validation.ts";
import { validationLimits } from "../../packages/server/src/validation/limits.ts";
import { CodeAndDataValidation } from "../../packages/server/src/validation/validation.ts";
import { readTable } from "./tables.ts";

const validation = new CodeAndDataValidation();
afterAll(() => validation[Symbol.asyncDispose]());

interface Row {
  name: string;
  schema: SchemaName | JsonSchema;
  data: unknown;
  /** `path keyword`. */
  errors: string[];
}

const refusal = async (data: unknown, schema: unknown): Promise<AppError> => {
  const error = await validation.json(data, schema as JsonSchema).catch((thrown: unknown) => thrown);
  if (error instanceof AppError) return error;
  throw new Error(`was not refused: ${JSON.stringify(error)}`);
};

describe("[VAL-03] JSON by a schema", () => {
  it.each(readTable<Row>("json"))("$name", async ({ schema, data, errors }) => {
    const result = await validation.json(data, schema);
    expect(result.errors.map(({ path, keyword }) => `${path} ${keyword}`)).toEqual(errors);
    expect(result.valid).toBe(errors.length === 0);
    expect(result.schema).toBe(typeof schema === "string" ? schema : null);
  });

  it("has as many errors as a result tells, and their number", async () => {
    const data = Array.from({ length: validationLimits.errors + 7 }, () => "x");
    const { errors, errorCount, truncated } = await validation.json(data, { items: { type: "integer" } });
    expect([errors.length, errorCount, truncated]).toEqual([
      validationLimits.errors,
      validationLimits.errors + 7,
      true,
    ]);
  });
});

describe("[VAL-03] a reference of a schema", () => {
  it("to another place is refused, and nobody is asked", async () => {
    let asked = 0;
    await using server = createServer((_, response) => {
      asked += 1;
      response.end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/schema.json`;
    for (const schema of [{ $ref: url }, { $id: url, $ref: "other.json" }, { $schema: url }, { items: { $ref: url } }])
      expect(["invalid", "unsupported"]).toContain((await refusal([1], schema)).code);
    expect(asked).toBe(0);
  });

  it("to a file is refused", async () => {
    const error = await refusal(1, { $ref: "file:///etc/passwd" });
    expect(error.code).toBe("invalid");
    expect(error.hint).toContain("not fetched");
  });

  it("to an $id of another call is refused", async () => {
    await validation.json(1, { $id: "https://example.com/a", type: "integer" });
    expect((await refusal(1, { $ref: "https://example.com/a" })).code).toBe("invalid");
  });
});

describe("[VAL-03] a schema", () => {
  it("that nobody has registered is not found", async () => {
    expect(await refusal({}, "nobody")).toMatchObject({
      code: "not_found",
      hint: "schemas by name: config, user, dataset",
    });
    expect((await refusal({}, "__proto__")).code).toBe("not_found");
  });

  it("of another draft is refused with its reason", async () => {
    const error = await refusal({}, { $schema: "http://json-schema.org/draft-07/schema#" });
    expect([error.code, error.message]).toEqual(["unsupported", "the schema's $schema is not JSON Schema 2020-12"]);
  });

  it.each([{ type: "nope" }, { properties: 5 }, { pattern: "(" }, { $ref: 5 }])(
    "like %j is refused",
    async (schema) => {
      expect((await refusal({}, schema)).code).toBe("invalid");
    },
  );

  it.each([[], null, 5, undefined])("is no %j", async (schema) => {
    expect((await refusal({}, schema)).code).toBe("invalid");
  });

  it("that is too large, or too deep, is refused", async () => {
    expect((await refusal(1, { const: "x".repeat(validationLimits.schemaBytes) })).code).toBe("too_large");
    let deep: JsonSchema = {};
    for (let level = 0; level < 10_000; level += 1) deep = { not: deep };
    expect(["too_large", "timeout"]).toContain((await refusal(1, deep)).code);
  });
});

describe("[VAL-03] data", () => {
  it("that is too large is refused", async () => {
    expect((await refusal("x".repeat(validationLimits.jsonBytes), true)).code).toBe("too_large");
  });

  it("nested 10,000 levels deep is answered", async () => {
    let deep: unknown = 1;
    for (let level = 0; level < 10_000; level += 1) deep = { next: deep };
    const schema = { properties: { next: { $ref: "#" } } };
    const answer = await validation.json(deep, schema).catch((error: unknown) => error);
    if (answer instanceof AppError) expect(["too_large", "timeout"]).toContain(answer.code);
    else expect(answer).toHaveProperty("valid", true);
    expect((await validation.json(1, schema)).valid).toBe(true);
  });

  it("called __proto__ and constructor is data", async () => {
    const data = JSON.parse('{"__proto__": 1, "constructor": {"prototype": 2}}');
    const { errors } = await validation.json(data, { additionalProperties: false });
    expect(errors.map(({ keyword }) => keyword)).toEqual(["additionalProperties", "additionalProperties"]);
    expect(({} as Record<string, unknown>).prototype).toBeUndefined();
  });
});
