import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hostLimits } from "./limits.ts";
import { quoteWords, splitCommand } from "./split.ts";

describe("a command's text", () => {
  it.each([
    ["docker restart web", ["docker", "restart", "web"]],
    ["  a \t b  ", ["a", "b"]],
    [`echo 'a b' "c d" e\\ f`, ["echo", "a b", "c d", "e f"]],
    [`a'b'"c"d`, ["abcd"]],
    [`'' ""`, ["", ""]],
    [`'a"b' "c'd"`, ['a"b', "c'd"]],
    [`"a\\"b\\\\c\\d"`, ['a"b\\c\\d']],
    [`'a;b|c&d$e\`f>g<h*i'`, ["a;b|c&d$e`f>g<h*i"]],
    ["a#b a~b {x} !", ["a#b", "a~b", "{x}", "!"]],
    ["", []],
  ])("%j is split as a shell would quote it", (text, words) => {
    expect(splitCommand(text)).toEqual(words);
  });

  it.each(["a;b", "a | b", "a & b", "a && b", "a > b", "a < b", "a $HOME", "a $(b)", "a `b`", "(a)", "a\nb", "a\rb"])(
    "[HST-02] %j is refused: no shell runs it",
    (text) => {
      expect(() => splitCommand(text)).toThrow("not supported: no shell runs this command");
    },
  );

  it.each(["a *", "a x?", "a [x]", "~/a", "a ~", "# a", 'a "$b"', 'a "`b`"'])(
    "[HST-02] %j is refused: a shell would make something else of it",
    (text) => {
      expect(() => splitCommand(text)).toThrow("not supported: no shell runs this command");
    },
  );

  it.each([`a 'b`, `a "b`, "a \\", "a \\\nb", "a\0b"])("%j is refused: it has no end", (text) => {
    expect(() => splitCommand(text)).toThrow();
  });

  it("is bounded in bytes and words", () => {
    expect(() => splitCommand("a".repeat(hostLimits.commandBytes + 1))).toThrow("too long");
    expect(() => splitCommand("a ".repeat(hostLimits.words + 1))).toThrow("too many words in the command");
    expect(splitCommand("a ".repeat(hostLimits.words))).toHaveLength(hostLimits.words);
  });

  it("comes back from its words, whatever is in them", () => {
    const word = fc.string({ unit: "binary", maxLength: 40 }).filter((text) => !text.includes("\0"));
    fc.assert(
      fc.property(fc.array(word, { maxLength: 20 }), (words) => {
        expect(splitCommand(quoteWords(words))).toEqual(words);
      }),
    );
  });

  it("is words or a refusal, and never another character than it has", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => {
        const words = attempt(() => splitCommand(text));
        for (const char of words?.join("") ?? "") expect(text).toContain(char);
      }),
    );
  });
});

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
