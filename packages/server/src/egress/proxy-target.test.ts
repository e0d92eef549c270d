import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAbsolute, parseAuthority } from "./proxy-target.ts";

describe("targets of the proxy", () => {
  it.each([
    ["api.example.com:443", { host: "api.example.com", port: 443 }],
    ["[::1]:8080", { host: "::1", port: 8080 }],
    ["10.0.0.1:1", { host: "10.0.0.1", port: 1 }],
  ])("%s is one", (text, expected) => expect(parseAuthority(text)).toEqual(expected));

  it.each([
    ...["example.com", "example.com:0", "example.com:65536", ":443", "user@example.com:443", "a b:1", "::1:80"],
    ...[
      "example.com:443/",
      "example.com:443\r\nX: y",
      "example.com:44 3",
      "ex\u0000.com:1",
      "exämple.com:443",
      "[::1:80",
    ],
    ...["a%2eb:80", "a\\b:80", "https://example.com:443", "example.com:-1", "example.com:+443", "example.com:000443"],
  ])("%j is none", (text) => expect(parseAuthority(text)).toBeUndefined());

  it.each([
    [
      "http://api.example.com/a?b=c",
      { host: "api.example.com", port: 80, path: "/a?b=c", authority: "api.example.com" },
    ],
    [
      "HTTP://api.example.com:8080",
      { host: "api.example.com", port: 8080, path: "/", authority: "api.example.com:8080" },
    ],
    ["http://api.example.com?x", { host: "api.example.com", port: 80, path: "/?x", authority: "api.example.com" }],
  ])("%s leads somewhere", (text, expected) => expect(parseAbsolute(text)).toEqual(expected));

  it.each([
    ...["/path", "https://api.example.com/", "http://", "http:///x", "http://user:word@api.example.com/", "*"],
    ...["http://a.example/#x", "http://a.example/x y", "http://a.example\\@b.example/", "http://a.example:80:80/"],
    ...["ftp://a.example/", "http://a.example\u0000/", "http:a.example/", "http://a.example\t/"],
  ])("%j leads nowhere", (text) => expect(parseAbsolute(text)).toBeUndefined());

  it("never hold what would end a line or begin another part", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        const target = parseAbsolute(`http://${text}`) ?? { ...parseAuthority(text), path: "/" };
        expect(target.host ?? "x").toMatch(/^[^\s@/?#\\%]+$/);
        expect(target.path).toMatch(/^\/[\x21-\x7e]*$/);
      }),
    );
  });
});
