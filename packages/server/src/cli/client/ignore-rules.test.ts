import { describe, expect, it } from "vitest";
import { isIgnored, readIgnoreRules } from "./ignore-rules.ts";

const says = (text: string, path: string, isFolder = false) => isIgnored(readIgnoreRules(text), path, isFolder);

describe("a rule of an ignore file", () => {
  it.each([
    ["*.log", "a.log", true],
    ["*.log", "deep/er/a.log", true],
    ["*.log", "a.log.txt", undefined],
    ["/dist", "dist", true],
    ["/dist", "a/dist", undefined],
    ["a/b", "a/b", true],
    ["a/b", "c/a/b", undefined],
    ["a/**/b", "a/b", true],
    ["a/**/b", "a/x/y/b", true],
    ["**/cache", "a/b/cache", true],
    ["logs/**", "logs/a/b", true],
    ["logs/**", "logs", undefined],
    ["a?c", "abc", true],
    ["a?c", "a/c", undefined],
    ["[ab].txt", "b.txt", true],
    ["[!ab].txt", "b.txt", undefined],
    ["[!ab].txt", "c.txt", true],
    ["a.b", "axb", undefined],
    ["\\#literal", "#literal", true],
    ["\\!literal", "!literal", true],
    ["# comment", "# comment", undefined],
    ["", "anything", undefined],
    ["end  ", "end", true],
    ["a+(b)", "a+(b)", true],
  ])("'%s' says of %s: %s", (rule, path, expected) => {
    expect(says(rule, path)).toBe(expected);
  });

  it("for folders holds for folders alone", () => {
    expect(says("build/", "build", true)).toBe(true);
    expect(says("build/", "build", false)).toBeUndefined();
  });

  it("that comes later wins, and can bring a path back", () => {
    expect(says("*.txt\n!keep.txt", "keep.txt")).toBe(false);
    expect(says("!keep.txt\n*.txt", "keep.txt")).toBe(true);
    expect(says("*.txt\r\n!keep.txt\r\n", "other.txt")).toBe(true);
  });
});
