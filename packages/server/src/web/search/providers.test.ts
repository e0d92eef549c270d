import { describe, expect, it } from "vitest";
import { questionUrl, readProviders } from "./providers.ts";

const url = (text: string) => {
  const [provider] = readProviders([text]);
  return provider?.base ? questionUrl(provider, provider.base, "a b&c").href : null;
};

describe("search providers", () => {
  it.each([
    ["searxng", null],
    ["searxng=https://searx.example/sub", "https://searx.example/sub/search?q=a+b%26c&format=json"],
    ["mojeek", "https://www.mojeek.com/search?q=a+b%26c"],
    ["duckduckgo=http://127.0.0.1:8080", "http://127.0.0.1:8080/html/?q=a+b%26c"],
    ["yandex", "https://yandex.com/search/?text=a+b%26c"],
  ])("%s is asked at %s", (text, expected) => {
    expect(url(text)).toBe(expected);
  });

  it.each([
    [["gogle"]],
    [["mojeek", "mojeek=https://x.example"]],
    [["mojeek=ftp://x.example"]],
    [["mojeek=https://a:b@x.example"]],
    [["mojeek=https://x.example/?q="]],
    [["mojeek="]],
  ])("%j is refused", (list) => {
    expect(() => readProviders(list)).toThrow(expect.objectContaining({ code: "invalid" }));
  });
});
