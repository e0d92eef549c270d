import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonLimits } from "./json-limits.ts";
import { strictJson } from "./strict-json.ts";

const read = (text: string | Buffer) => strictJson(Buffer.from(text), jsonLimits.data);

describe("[S131] JSON that two readers must see alike", () => {
  it.each([
    ['{"a":1,"a":2}', "a name twice"],
    ['{"a":1,"\\u0061":2}', "a name twice"],
    ['[{"b":{"x":1,"y":{},"x":1}}]', "a name twice"],
    ['{"a":"\\ud800"}', "half of a surrogate pair"],
    ['{"\\udc00":1}', "half of a surrogate pair"],
    ["[1e400]", "a number that is too large"],
    ['{"__proto__":{}}', "a name that reaches a prototype"],
    [Buffer.from([0x22, 0xff, 0x22]), "bytes that are not UTF-8"],
    [Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), "bytes that are not UTF-8"],
  ])("is refused where they may differ: %s", (text, why) => {
    expect(() => read(text)).toThrow(`JSON with ${why}`);
  });

  it.each(["[1,]", "", "{a:1}", "\ufeff[]", "01", "{} {}"])("is JSON: not %j", (text) => {
    expect(() => read(text)).toThrow(SyntaxError);
  });

  it.each([
    '{"a":[9007199254740993,1.0,-0,1e3,0.1,123456789012345,true,null],"b":{"a":1}}',
    '{"same":{"a":1},"other":{"a":1},"text":"\u{1f600} \\" {\\"a\\":1}"}',
    "[[],{},-12.50]",
  ])("keeps the digits of its numbers: %s", (text) => {
    expect(JSON.stringify(read(text))).toBe(text);
  });

  it("is read as every parser reads it, whatever it holds", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        if (/"(__proto__|constructor)":/.test(text)) return;
        expect(JSON.parse(JSON.stringify(read(text)))).toEqual(JSON.parse(text));
      }),
    );
  });
});
