import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dnsCodes, formatMistake, formatResponse, parseQuery } from "./dns-message.ts";

function ask(name: string, type: number, { flags = 0x0100, id = 7 } = {}): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(flags, 2);
  header.writeUInt16BE(1, 4);
  const labels = name.split(".").flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, "latin1")]);
  return Buffer.concat([header, ...labels, Buffer.from([0, type >> 8, type & 255, 0, 1])]);
}

describe("questions to the resolver", () => {
  it("are read with their name in lower case", () => {
    expect(parseQuery(ask("API.Example.com", 1))).toMatchObject({ id: 7, name: "api.example.com", type: 1 });
  });

  it("are answered with the question as it was asked, letter by letter", () => {
    const message = ask("aPi.example.com", 1);
    const query = parseQuery(message);
    if (query === undefined || "code" in query) throw new Error("not read");
    const answer = formatResponse(query, dnsCodes.ok, Buffer.from([127, 64, 0, 16]));
    expect(answer.subarray(12, message.length)).toEqual(message.subarray(12));
    expect(answer.readUInt16BE(0)).toBe(7);
    expect(answer.readUInt16BE(6)).toBe(1);
    expect(answer.subarray(-4)).toEqual(Buffer.from([127, 64, 0, 16]));
    expect(formatResponse(query, dnsCodes.noSuchName).readUInt16BE(2) & 15).toBe(3);
  });

  it.each([
    ["an answer", ask("a.b", 1, { flags: 0x8100 }), undefined],
    ["too short", Buffer.alloc(11), undefined],
    ["another operation", ask("a.b", 1, { flags: 0x2800 }), { id: 7, code: dnsCodes.notImplemented }],
    ["an odd character", ask("a b.c", 1), { id: 7, code: dnsCodes.malformed }],
    ["a zero byte", ask("a\0.c", 1), { id: 7, code: dnsCodes.malformed }],
    ["an overlong name", ask(Array(5).fill("a".repeat(60)).join("."), 1), { id: 7, code: dnsCodes.malformed }],
    [
      "a pointer",
      Buffer.concat([ask("a", 1).subarray(0, 12), Buffer.from([0xc0, 12, 0, 1, 0, 1])]),
      { id: 7, code: 1 },
    ],
  ])("that are %s get no address", (_, message, expected) => expect(parseQuery(message)).toEqual(expected));

  it("may be any bytes: all are read within bounds, and what is answered has an id and a code", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        const query = parseQuery(Buffer.from(bytes));
        if (query === undefined) return;
        if ("code" in query) expect(formatMistake(query).length).toBe(12);
        else expect(query.name).toMatch(/^[a-z0-9_.-]{0,253}$/);
      }),
    );
  });

  it("cut off anywhere are mistakes", () => {
    const message = ask("api.example.com", 1);
    for (let end = 12; end < message.length; end++)
      expect(parseQuery(message.subarray(0, end))).toMatchObject({ code: dnsCodes.malformed });
  });
});
