import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasWildcard, matchPattern, parseAllowing, parsePattern, type Reading } from "./pattern.ts";
import { quoteWords } from "./split.ts";

function matches(pattern: string, argv: readonly string[], reading: Reading = "strict"): boolean {
  return matchPattern(parsePattern(pattern), argv, reading) !== undefined;
}

describe("a pattern", () => {
  it.each([
    ["docker ps", ["docker", "ps"]],
    ["docker restart *", ["docker", "restart", "web"]],
    ["docker restart *", ["docker", "restart", "web", "db"]],
    ["docker * web", ["docker", "restart", "web"]],
    ["docker restart web-*", ["docker", "restart", "web-1"]],
    ["cat /srv/data/*", ["cat", "/srv/data/a.csv"]],
    ["cat /srv/data/**", ["cat", "/srv/data/sub/a.csv"]],
    ["cat /srv/*/log", ["cat", "/srv/a/log"]],
    ["tail -n* /var/log/syslog", ["tail", "-n20", "/var/log/syslog"]],
    ["git **", ["git", "log", "--oneline"]],
    ["git **", ["git"]],
    ["echo '*'", ["echo", "*"]],
    ["echo \\*", ["echo", "*"]],
    ["echo *", ["echo", "a b;c|d"]],
    ["git diff *", ["git", "diff", "HEAD..main"]],
  ])("[HST-01] '%s' matches %j", (pattern, argv) => {
    expect(matches(pattern, argv)).toBe(true);
  });

  it.each([
    ["docker ps", ["docker", "ps", "-a"], "more words"],
    ["docker ps", ["docker"], "fewer words"],
    ["docker restart *", ["docker", "restart"], "nothing for the wildcard"],
    ["docker restart *", ["docker", "restart", "--signal=KILL"], "an option"],
    ["docker restart *", ["docker", "restart", "web", "-t"], "an option among others"],
    ["docker restart *", ["docker", "restart web"], "words in one"],
    ["docker * web", ["docker", "restart", "-f", "web"], "two words for one wildcard"],
    ["docker restart web-*", ["docker", "restart", "web-1", "db"], "more words after a wildcard"],
    ["cat /srv/data/*", ["cat", "/srv/data/../../etc/shadow"], "a way up"],
    ["cat /srv/data/**", ["cat", "/srv/data/../../etc/shadow"], "a way up"],
    ["cat /srv/data/**", ["cat", "/srv/data/.."], "a way up at the end"],
    ["cat *", ["cat", "../x"], "a way up from the start"],
    ["cat --file=*", ["cat", "--file=../x"], "a way up in an option"],
    ["git **", ["git", "-C", "../x"], "a way up after **"],
    ["cat /srv/data/*", ["cat", "/srv/data/sub/a.csv"], "a folder further down"],
    ["cat /srv/data/*", ["cat", "/srv/database"], "a name that only begins alike"],
    ["docker ps", ["/usr/bin/docker", "ps"], "another spelling of the program"],
    ["docker ps", ["Docker", "ps"], "another case"],
    ["echo '*'", ["echo", "a"], "a star that was quoted"],
  ])("[HST-01] '%s' does not match %j: %s", (pattern, argv) => {
    expect(matches(pattern, argv)).toBe(false);
  });

  it.each([
    ["docker rm *", ["docker", "rm", "-f", "web"]],
    ["cat /etc/*", ["cat", "/etc/ssl/private/key"]],
    ["cat /etc/**", ["cat", "/etc/x/../shadow"]],
    ["* --privileged", ["docker", "--privileged"]],
    ["**", ["anything", "at", "--all"]],
  ])("[HST-01] that blocks reads its wildcards wide: '%s' matches %j", (pattern, argv) => {
    expect(matches(pattern, argv, "wide")).toBe(true);
  });

  it.each(["", "  ", "a ***", "** a", "a x***", "a 'b", "a $b", "a | b", "a".repeat(513)])("cannot be %j", (text) => {
    expect(() => parsePattern(text)).toThrow();
  });

  it.each(["*", "**", "* ps", "/usr/bin/* x", "doc*er ps"])("that allows names its program, unlike %j", (text) => {
    expect(() => parseAllowing(text)).toThrow("does not name a program");
    expect(() => parsePattern(text)).not.toThrow();
  });

  it("made of a command matches that command and no other", () => {
    const word = fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 12 });
    const words = fc.array(word, { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(words, words, (argv, other) => {
        const pattern = parsePattern(quoteWords(argv));
        expect(hasWildcard(pattern)).toBe(false);
        expect(matchPattern(pattern, argv, "strict")).toEqual([]);
        expect(matchPattern(pattern, other, "strict") !== undefined).toBe(argv.join("\0") === other.join("\0"));
      }),
    );
  });

  it("never lets a way up or an option pass for a wildcard", () => {
    const piece = fc.constantFrom("..", "/", "a", "-", ".", "=", "b*");
    const word = fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(word, (argument) => {
        if (matches("cat *", ["cat", argument])) {
          expect(argument.startsWith("-")).toBe(false);
          expect(argument.split("/")).not.toContain("..");
        }
        const path = `/srv/${argument}`;
        if (matches("cat /srv/**", ["cat", path])) expect(new URL(path, "file:///").pathname).toMatch(/^\/srv\//);
      }),
    );
  });

  it("is compared in bounded time", () => {
    const pattern = parsePattern(`a ${"x*".repeat(200)}y`);
    expect(matchPattern(pattern, ["a", "x".repeat(20_000)], "strict")).toBeUndefined();
  });
});
