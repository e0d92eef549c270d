import { describe, expect, it } from "vitest";
import { visible, visibleJson } from "./terminal.ts";

const hostile = [
  ["an escape sequence", "\x1b[2Jgone"],
  ["a carriage return", "rm -rf /\rls      "],
  ["a C1 control", "\u009b2J"],
  ["a turn of direction", "api.\u202emoc.live"],
  ["an isolate", "\u2066a\u2069"],
  ["what takes no room", "api.example\u200b.com"],
  ["a tag", "api\u{e0061}.example.com"],
  ["a line separator", "a\u2028b"],
  ["half a character", "\ud800"],
] as const;

describe("text from a stranger", () => {
  it.each(hostile)("is shown and not obeyed: %s", (_, text) => {
    expect(visible(text)).toMatch(/\\u\{/);
    expect(visible(text)).not.toMatch(/[\x00-\x1f\x7f-\x9f]|\p{Default_Ignorable_Code_Point}/u);
    const json = visibleJson({ text });
    expect(json.replaceAll("\n", "")).not.toMatch(/[\x00-\x1f\x7f-\x9f]|\p{Default_Ignorable_Code_Point}/u);
    expect(JSON.parse(json)).toEqual({ text });
  });

  it("is left as it is when it is plain, in any script", () => {
    for (const text of ["api.example.com:443", "żółć 東京 שלום 🎉", "git push 'a b'"]) {
      expect(visible(text)).toBe(text);
      expect(JSON.parse(visibleJson([text]))).toEqual([text]);
    }
  });
});
