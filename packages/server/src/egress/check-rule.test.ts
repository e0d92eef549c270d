import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { egressProtocols } from "../core/egress.ts";
import type { RuleDraft } from "../core/egress-policies.ts";
import { checkAllowRule, parseAllowRule, parseDenyRule } from "./check-rule.ts";
import { loadPublicSuffixes } from "./public-suffix.ts";
import { formatAllowRule, formatDenyRule } from "./rule-text.ts";

await loadPublicSuffixes();

const texts: [string, string, string, number, string][] = [
  ["api.example.com", "api.example.com", "api.example.com", 443, "tls"],
  ["API.example.com.:443/tls", "api.example.com", "api.example.com", 443, "tls"],
  ["api.example.com:80", "api.example.com:80", "api.example.com", 80, "http"],
  ["api.example.com:80/tcp", "api.example.com:80/tcp", "api.example.com", 80, "tcp"],
  ["api.example.com/tcp", "api.example.com/tcp", "api.example.com", 443, "tcp"],
  ["db.example.com:5432", "db.example.com:5432", "db.example.com", 5432, "tcp"],
  ["*.example.com:8443/tls", "*.example.com:8443/tls", "*.example.com", 8443, "tls"],
  ["*.internal.company.com", "*.internal.company.com", "*.internal.company.com", 443, "tls"],
  ["*.bücher.example", "*.xn--bcher-kva.example", "*.xn--bcher-kva.example", 443, "tls"],
  ["127.1:8080", "127.0.0.1:8080", "127.0.0.1", 8080, "tcp"],
  ["203.0.113.7", "203.0.113.7", "203.0.113.7", 443, "tcp"],
  ["2606:4700::1111", "[2606:4700::1111]", "2606:4700::1111", 443, "tcp"],
  ["[2606:4700::1111]:853", "[2606:4700::1111]:853", "2606:4700::1111", 853, "tcp"],
];

/** Of these a wildcard would reach names of many owners: top-level domains, and the list's private section. */
const suffixes = [
  ...["com", "org", "uk", "co.uk", "vercel.app", "github.io", "pages.dev", "s3.amazonaws.com", "blogspot.com"],
  ...["compute.amazonaws.com", "ck", "internal", "herokuapp.com", "ngrok.io", "xn--p1ai"],
];

describe("a rule in text", () => {
  it.each(texts)("[NET-02] %s reads as %s", (text, written, host, port, protocol) => {
    const rule = parseAllowRule(text);
    expect(rule).toEqual({ host, port, protocol });
    expect(formatAllowRule(rule)).toBe(written);
    expect(parseAllowRule(written)).toEqual(rule);
  });

  it.each(suffixes)("[NET-02] *.%s is refused with the reason", (suffix) => {
    expect(() => parseAllowRule(`*.${suffix}`)).toThrow(`'*.${suffix}' would allow names of many owners`);
  });

  it.each(["*.example.com", "*.example.co.uk", "*.shop.vercel.app", "*.www.ck"])("%s is taken", (text) => {
    expect(parseAllowRule(text).host).toBe(text);
  });

  it("[NET-02] * is refused with the reason", () => {
    expect(() => parseAllowRule("*")).toThrow("would allow all hosts");
    expect(() => parseAllowRule("*:443")).toThrow("would allow all hosts");
  });

  it.each([
    ...["", "https://api.example.com", "api.example.com/path/", "a*.example.com", "*.*.example.com", "*.127.0.0.1"],
    ...["api.example.com:0", "api.example.com:65536", "api.example.com:x", "api.example.com/udp", "a b", "*."],
    ...[
      "localhost",
      "x.localhost:80",
      "LOCALHOST.",
      "127.0.0.1/tls",
      "a..b",
      `${"a".repeat(64)}.example`,
      "x".repeat(999),
    ],
  ])("%j is refused", (text) => {
    expect(() => parseAllowRule(text)).toThrowError(expect.objectContaining({ code: "invalid" }));
  });

  it("is written so that it reads the same", () => {
    const host = fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6());
    const protocol = fc.constantFrom(...egressProtocols);
    fc.assert(
      fc.property(host, fc.integer({ min: 1, max: 65_535 }), protocol, (...[name, port, how]) => {
        const draft = { host: name, port, protocol: /^[\d.]+$|:/.test(name) ? "tcp" : how };
        const rule = checkAllowRule(draft);
        expect(parseAllowRule(formatAllowRule(rule))).toEqual(rule);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("a rule that denies", () => {
  it.each([
    ["*", { host: "*" }],
    ["*.com", { host: "*.com" }],
    ["Evil.example.com.", { host: "evil.example.com" }],
    ["evil.example.com:25", { host: "evil.example.com", port: 25 }],
    ["203.0.113.0/24", { host: "203.0.113.0/24" }],
    ["FD00::/8", { host: "fd00::/8" }],
    ["0x7f.1", { host: "127.0.0.1" }],
  ])("%s is taken", (text, rule) => {
    expect(parseDenyRule(text)).toEqual(rule);
    expect(parseDenyRule(formatDenyRule(parseDenyRule(text)))).toEqual(rule);
  });

  it.each(["", "a*b", "*.10.0.0.1", "evil.example.com/tls", "10.0.0.0/33", "0.0.0.0/0", "a..b"])(
    "%j is refused",
    (text) => expect(() => parseDenyRule(text)).toThrowError(expect.objectContaining({ code: "invalid" })),
  );
});

describe("the conditions of a rule", () => {
  const host = "api.example.com";
  it("are kept in one form", () => {
    const draft = { host, inspect: true, methods: ["get", "GET", "post"], paths: ["/v1/*"], uploadAskBytes: 1_000 };
    expect(checkAllowRule({ ...draft, ranges: ["10.0.0.0/8", "FD00::/8"] })).toEqual({
      ...{ host, port: 443, protocol: "tls", inspect: true, methods: ["GET", "POST"], paths: ["/v1/*"] },
      ...{ uploadAskBytes: 1_000, ranges: ["10.0.0.0/8", "fd00::/8"] },
    });
    expect(checkAllowRule({ host, inspect: false, ranges: [] })).toEqual({ host, port: 443, protocol: "tls" });
    expect(checkAllowRule({ host, port: 80, methods: ["GET"] })).toMatchObject({ protocol: "http", methods: ["GET"] });
  });

  const refused: RuleDraft[] = [
    { host, methods: ["GET"] },
    { host, paths: ["/"] },
    { host, port: 80, inspect: true },
    { host, inspect: true, methods: [] },
    { host, inspect: true, methods: ["GET /"] },
    { host, inspect: true, paths: ["v1"] },
    { host, inspect: true, paths: ["/a*b"] },
    { host, inspect: true, paths: ["/a?b"] },
    { host, inspect: true, paths: ["/a b"] },
    { host, inspect: true, paths: Array.from({ length: 65 }, (_, at) => `/${at}`) },
    { host, ranges: ["10.0.0.0"] },
    { host, ranges: ["0.0.0.0/0"] },
    { host, ranges: ["::/0"] },
    { host, ranges: ["::ffff:10.0.0.0/104"] },
    { host, ranges: ["10.1/16"] },
    { host, uploadAskBytes: 0 },
    { host, port: 1.5 },
    { host, port: Number.NaN },
  ];
  it.each(refused)("are refused when they cannot hold: %j", (draft) => {
    expect(() => checkAllowRule(draft)).toThrowError(expect.objectContaining({ code: "invalid" }));
  });
});
