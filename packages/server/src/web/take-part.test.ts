import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { takePart } from "./take-part.ts";

describe("parts of a text", () => {
  it("make up the whole again, and end within no character", () => {
    const texts = fc
      .array(fc.constantFrom("a", " ", "é", "😀", "\n", "\n\n"), { maxLength: 300 })
      .map((all) => all.join(""));
    fc.assert(
      fc.property(texts, fc.integer({ min: 10, max: 99 }), (whole, most) => {
        let text = "";
        for (let at: number | null = 0; at !== null; ) {
          const part = takePart(whole, at, most);
          if (part.offset !== at || part.text.length > most || !part.text.isWellFormed()) return false;
          text += part.text;
          at = part.nextOffset;
        }
        return text === whole;
      }),
    );
  });

  it("end between paragraphs where they can", () => {
    expect(takePart(`${"a".repeat(90)}\n\n${"b".repeat(90)}`, 0, 100)).toMatchObject({ nextOffset: 92 });
    expect(takePart("short", 99, 100)).toEqual({ text: "", offset: 5, totalCharacters: 5, nextOffset: null });
  });
});
