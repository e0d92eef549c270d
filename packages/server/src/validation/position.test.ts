import fc from "fast-check";
import { expect, it } from "vitest";
import { Positions } from "./position.ts";

const text = fc.string({ unit: fc.constantFrom("a", "é", "😀", "\n", "\r", "\r\n"), maxLength: 30 });

it("finds the line and column of every offset, asked in any order", () => {
  fc.assert(
    fc.property(text, fc.array(fc.nat(40), { maxLength: 10 }), (code, offsets) => {
      const positions = new Positions(code);
      for (const offset of offsets) {
        // Where a character is cut in two, or a line's end, the place is that of its beginning.
        const before = code.slice(0, offset);
        if (/\r$/.test(before) && code[offset] === "\n") continue;
        if (/[\ud800-\udbff]$/.test(before)) continue;
        const lines = before.split(/\r\n|\r|\n/);
        const expected = { line: lines.length, column: [...(lines.at(-1) ?? "")].length + 1 };
        expect(positions.at(offset)).toEqual(expected);
      }
    }),
  );
});
