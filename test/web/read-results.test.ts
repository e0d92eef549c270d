import { describe, expect, it } from "vitest";
import { readResults } from "../../packages/server/src/web/search/read-results.ts";
import { readSearxng } from "../../packages/server/src/web/search/read-searxng.ts";
import { resultPages } from "./result-pages.ts";

const found = [
  { title: "First & best", url: "https://one.example/a?b=c", snippet: "What it is about." },
  { title: "Second", url: "https://two.example/", snippet: "More." },
];

describe("a page of results", () => {
  it.each(["mojeek", "duckduckgo", "yandex"] as const)("[WEB-01] of %s is read, without advertisements", (provider) => {
    const { base, results, none, captcha } = resultPages[provider];
    expect(readResults(provider, results, base)).toEqual({ state: "results", results: found });
    expect(readResults(provider, none, base)).toEqual({ state: "none", results: [] });
    expect(readResults(provider, captcha, base)).toEqual({ state: "captcha", results: [] });
    expect(readResults(provider, "<p>Something else</p>", base)).toEqual({ state: "unknown", results: [] });
    expect(readResults(provider, "", base)).toEqual({ state: "unknown", results: [] });
  });

  it("[WEB-01] of SearXNG is read as JSON", () => {
    const { base, results, none } = resultPages.searxng;
    expect(readSearxng(results, base)).toEqual({ state: "results", results: found });
    expect(readSearxng(none, base)).toEqual({ state: "none", results: [] });
    expect(readSearxng("<html>", base)).toEqual({ state: "unknown", results: [] });
    expect(readSearxng('{"results": [{"url": 7}]}', base)).toEqual({ state: "unknown", results: [] });
    const silent = '{"results": [], "unresponsive_engines": [["google", "timeout"]]}';
    expect(() => readSearxng(silent, base)).toThrow("none of its engines responds (google: timeout)");
  });

  it("leads nowhere but to the web", () => {
    const page = resultPages.mojeek.results.replaceAll("https://one.example", "javascript:alert(1)//");
    expect(readResults("mojeek", page, resultPages.mojeek.base).results.map(({ url }) => url)).toEqual([
      "https://two.example/",
    ]);
  });
});
