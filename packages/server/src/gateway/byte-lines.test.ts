import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteLines, tooLong } from "./byte-lines.ts";

const shown = (line: Buffer | typeof tooLong) => (line === tooLong ? "too long" : line.toString());

describe("lines of a program", () => {
  it("are the same however its bytes are cut", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 12 })), fc.nat(7), (texts, size) => {
        const lines = texts.map((text) => text.replaceAll("\n", ""));
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
        const reader = new ByteLines(8);
        const found: string[] = [];
        for (let at = 0; at < bytes.length; at += size + 1)
          for (const line of reader.push(bytes.subarray(at, at + size + 1))) found.push(shown(line));
        expect(found).toEqual(lines.map((line) => (Buffer.byteLength(line) > 8 ? "too long" : line)));
      }),
    );
  });

  it("[S133] without an end are dropped in bounded memory, and the next one is read", () => {
    const reader = new ByteLines(1024);
    const found: string[] = [];
    const chunk = Buffer.alloc(512, "x");
    for (let count = 0; count < 1_000; count++) for (const line of reader.push(chunk)) found.push(shown(line));
    for (const line of reader.push(Buffer.from("\nnext\n"))) found.push(shown(line));
    expect(found).toEqual(["too long", "next"]);
  });
});
