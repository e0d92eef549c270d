import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAllowRule } from "./check-rule.ts";
import { covers, matchesHost } from "./match.ts";
import { loadPublicSuffixes } from "./public-suffix.ts";

await loadPublicSuffixes();

const covered = (permit: string, asked: string) => covers(parseAllowRule(permit), parseAllowRule(asked));

describe("a rule", () => {
  it.each([
    ["api.example.com", "api.example.com"],
    ["*.example.com", "api.example.com"],
    ["*.example.com", "*.example.com"],
    ["*.example.com", "*.api.example.com"],
    ["*.example.com:80", "a.b.example.com:80"],
  ])("%s covers %s", (permit, asked) => expect(covered(permit, asked)).toBe(true));

  it.each([
    ["api.example.com", "*.api.example.com"],
    ["*.api.example.com", "api.example.com"],
    ["*.api.example.com", "*.example.com"],
    ["*.example.com", "example.com"],
    ["*.example.com", "api.example.com:80"],
    ["*.example.com", "api.example.com/tcp"],
    ["x.example.com", "*.example.com"],
    ["*.example.com", "api.example.org"],
  ])("%s does not cover %s", (permit, asked) => expect(covered(permit, asked)).toBe(false));

  it("that covers another one matches all that the other matches", () => {
    const name = fc.array(fc.constantFrom("x", "a", "b"), { minLength: 1, maxLength: 3 }).map((all) => all.join("."));
    const host = fc.tuple(fc.boolean(), name).map(([isWild, text]) => (isWild ? `*.${text}` : text));
    const rule = host.map((text) => ({ host: text, port: 443, protocol: "tls" as const }));
    fc.assert(
      fc.property(rule, rule, name, (permit, asked, text) => {
        if (covers(permit, asked) && matchesHost(asked.host, text)) expect(matchesHost(permit.host, text)).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });
});
