import { describe, expect, it } from "vitest";
import { decodeText } from "./decode-text.ts";

const latin = (text: string) => Buffer.from(text, "latin1");

describe("the text of a page", () => {
  it.each([
    ["by its byte order mark, whatever its server says", Buffer.from("\ufeffé", "utf8"), "latin1", "é"],
    ["by what its server says, whatever it says itself", latin('<meta charset="utf-8">\xe9'), "iso-8859-1", "é"],
    ["by what it says itself", latin('<meta charset="windows-1251">\xe4\xe0'), undefined, "да"],
    ["by what it says in the old way", latin('<meta content="text/html; charset=koi8-r">\xc4\xc1'), undefined, "да"],
    ["as UTF-8 where it says nothing", Buffer.from("é"), undefined, "é"],
    ["as UTF-8 though it was cut within a character", Buffer.from("aé").subarray(0, 2), undefined, "a"],
    ["as Windows text where it is no UTF-8", latin("\xe9\x80!"), undefined, "é€!"],
    ["as UTF-8 where it says UTF-16 in ASCII", Buffer.from('<meta charset="utf-16">é'), undefined, "é"],
    ["by what it is where the name of its set is none", Buffer.from("é"), "klingon", "é"],
  ])("is read %s", (_how, bytes, charset, expected) => {
    expect(decodeText(bytes, charset, "html").replace(/^<[^>]*>/, "")).toBe(expected);
  });
});
