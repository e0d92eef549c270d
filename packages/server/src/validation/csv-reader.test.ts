import fc from "fast-check";
import { expect, it } from "vitest";
import { readRecords } from "./csv-reader.ts";

const field = fc.string({ unit: fc.constantFrom("a", '"', ",", "\n", "\r", " ", "é", "😀"), maxLength: 8 });
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

it("reads back what was written by RFC 4180", () => {
  const table = fc.array(fc.array(field, { minLength: 1, maxLength: 4 }), { maxLength: 5 });
  fc.assert(
    fc.property(table, fc.constantFrom("\n", "\r\n", "\r"), fc.boolean(), (records, newline, isEnded) => {
      const lines = records.map((fields) => fields.map(quoted).join(","));
      const text = lines.join(newline) + (isEnded ? newline : "");
      expect([...readRecords(text)].map(({ fields }) => fields)).toEqual(records);
      expect([...readRecords(text)].filter(({ fault }) => fault !== undefined)).toEqual([]);
    }),
  );
});

it("comes to the end of anything, with lines in order", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", '"', ",", "\n", "\r"), maxLength: 40 }), (text) => {
      const lines = [...readRecords(text)].map(({ line }) => line);
      expect(lines).toEqual([...new Set(lines)].sort((left, right) => left - right));
    }),
  );
});
