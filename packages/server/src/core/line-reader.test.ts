import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineReader } from "./line-reader.ts";

function readAll(reader: LineReader): string[] {
  const lines: string[] = [];
  for (let line = reader.next(); line !== undefined; line = reader.next()) lines.push(line);
  return lines;
}

describe("a reader of lines", () => {
  it("finds the same lines, however the bytes are cut, and whenever it is asked", () => {
    const line = fc.string({ unit: "binary", maxLength: 20 }).map((text) => text.replaceAll("\n", ""));
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat(12)), fc.array(fc.boolean()), (lines, cuts, asks) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(""));
        const reader = new LineReader(1_000);
        const found: string[] = [];
        let at = 0;
        for (const [index, size] of [...cuts, bytes.length].entries()) {
          reader.push(bytes.subarray(at, at + size));
          at += size;
          if (asks[index] !== false) found.push(...readAll(reader));
        }
        found.push(...readAll(reader));
        expect(found).toEqual(bytes.toString().split("\n").slice(0, -1));
      }),
    );
  });

  it("takes a line of the most bytes, and none that is longer, whole or in parts", () => {
    const reader = new LineReader(4);
    reader.push(Buffer.from("four\nlonger"));
    expect(reader.next()).toBe("four");
    expect(() => reader.next()).toThrow("limit: 4 bytes");
    const slow = new LineReader(4);
    for (const part of ["ab", "cd"]) {
      slow.push(Buffer.from(part));
      expect(slow.next()).toBeUndefined();
    }
    slow.push(Buffer.from("e"));
    expect(() => slow.next()).toThrow("limit: 4 bytes");
  });
});
