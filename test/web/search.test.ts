import type { RequestListener } from "node:http";
import { describe, expect, it } from "vitest";
import { webLimits } from "../../packages/server/src/web/limits.ts";
import { Reader } from "../../packages/server/src/web/reader.ts";
import { Health } from "../../packages/server/src/web/search/health.ts";
import { readProviders } from "../../packages/server/src/web/search/providers.ts";
import { type SearchRequest, searchWeb } from "../../packages/server/src/web/search/search-web.ts";
import { errands } from "../egress/errands.ts";
import { dnsHost, webHost } from "../egress/hosts.ts";
import { http } from "../egress/rules.ts";
import { resultPages } from "./result-pages.ts";

const hosts = ["searxng", "mojeek", "duckduckgo", "yandex"] as const;
type Name = (typeof hosts)[number];

const giving =
  (name: Name, what: "results" | "none" | "captcha" = "results"): RequestListener =>
  (_request, response) =>
    void response
      .writeHead(200, { "content-type": name === "searxng" ? "application/json" : "text/html" })
      .end(resultPages[name][what]);
const failing: RequestListener = (_request, response) => void response.writeHead(500).end("oops");

/** Providers on loopback, each under a name of its own, and a sandbox that may reach those that are allowed. */
async function world(answers: Partial<Record<Name, RequestListener>>, { allowed = hosts as readonly Name[] } = {}) {
  const asked: string[] = [];
  const site = await webHost({
    answer: (request, response) => {
      const name = String(request.headers.host).split(".")[0] as Name;
      asked.push(name);
      (answers[name] ?? giving(name))(request, response);
    },
  });
  const dns = await dnsHost(Object.fromEntries(hosts.map((name) => [`${name}.example`, "127.0.0.1"])));
  const allow = allowed.map((name) => http(`${name}.example`));
  const box = await errands({ policy: { allow }, ports: { 80: site.port }, dns: dns.address });
  let nowMs = 0;
  const parts = {
    run: box.run,
    reader: new Reader(),
    providers: readProviders(hosts.map((name) => `${name}=http://${name}.example`)),
    health: new Health(() => nowMs),
    namespace: "default",
  };
  return {
    ...box,
    asked,
    requests: site.requests,
    later: (ms: number) => {
      nowMs += ms;
    },
    parts,
    search: (request: Partial<SearchRequest> = {}) =>
      searchWeb(parts, { query: "a b", signal: new AbortController().signal, ...request }),
    async [Symbol.asyncDispose]() {
      await box[Symbol.asyncDispose]();
      await dns[Symbol.asyncDispose]();
      await site[Symbol.asyncDispose]();
    },
  };
}

describe("a search", () => {
  it("[WEB-01] asks SearXNG first, by its JSON, and gives as many results as asked for", async () => {
    await using web = await world({});
    expect(await web.search({ maxResults: 1 })).toEqual({
      query: "a b",
      provider: "searxng",
      results: [{ title: "First & best", url: "https://one.example/a?b=c", snippet: "What it is about." }],
      failed: [],
    });
    expect(web.requests[0]).toMatchObject({ url: "/search?q=a+b&format=json" });
    expect(web.attempts[0]).toMatchObject({ host: "searxng.example", verdict: "allowed" });
  });

  it("[WEB-01] goes on to the next when one fails or wants a captcha, says why, and lets those rest", async () => {
    await using web = await world({ searxng: failing, mojeek: giving("mojeek", "captcha") });
    const { first } = webLimits.restMs;
    const once = await web.search();
    expect(once).toMatchObject({
      provider: "duckduckgo",
      failed: [
        { provider: "searxng", reason: "status 500", isRefused: false, restsMs: first },
        { provider: "mojeek", reason: expect.stringContaining("captcha"), restsMs: webLimits.captchaRestMs },
      ],
    });
    expect(once.results.length).toBe(2);
    expect(await web.search()).toMatchObject({ provider: "duckduckgo" });
    expect(web.asked).toEqual(["searxng", "mojeek", "duckduckgo", "duckduckgo"]);
    web.later(first);
    await web.search();
    expect(web.asked.slice(4)).toEqual(["searxng", "duckduckgo"]);
  });

  it("[WEB-01] is refused when no provider's host is allowed, with how to ask; nothing is sent, and none rests for it", async () => {
    await using web = await world({}, { allowed: [] });
    await expect(web.search()).rejects.toMatchObject({
      code: "forbidden",
      hint: expect.stringContaining("request_egress"),
      details: { refused: "egress", what: "searxng.example:80", failed: { length: 4 } },
    });
    expect(web.asked).toEqual([]);
    expect(web.attempts.every(({ verdict }) => verdict === "denied")).toBe(true);
    expect(web.parts.health.resting("default", "searxng")).toBeUndefined();
  });

  it("passes over a provider that is not allowed", async () => {
    await using web = await world({}, { allowed: ["yandex"] });
    const { provider, failed } = await web.search();
    expect(provider).toBe("yandex");
    expect(failed.map(({ isRefused, restsMs }) => [isRefused, restsMs])).toEqual(Array(3).fill([true, null]));
  });

  it("asks the one that is named alone, even while it rests", async () => {
    await using web = await world({ mojeek: failing });
    await expect(web.search({ provider: "mojeek" })).rejects.toMatchObject({ code: "unavailable" });
    await expect(web.search({ provider: "mojeek" })).rejects.toMatchObject({ code: "unavailable" });
    expect(web.asked).toEqual(["mojeek", "mojeek"]);
  });

  it("that finds nothing is an answer", async () => {
    await using web = await world({ searxng: giving("searxng", "none") });
    expect(await web.search()).toMatchObject({ provider: "searxng", results: [] });
  });

  it("says of all providers why none answers, and when to try again", async () => {
    await using web = await world(Object.fromEntries(hosts.map((name) => [name, failing])));
    const error = await web.search().catch((caught) => caught);
    expect(error).toMatchObject({ code: "unavailable", retryAfterMs: webLimits.restMs.first });
    expect(error.details.failed.map(({ provider }: { provider: string }) => provider)).toEqual(hosts);
    web.asked.length = 0;
    await expect(web.search()).rejects.toMatchObject({ code: "unavailable" });
    expect(web.asked).toEqual([]);
  });

  it("says of SearXNG that nobody said where it is, and of its JSON that it is not switched on", async () => {
    await using web = await world({ searxng: (_request, response) => void response.writeHead(403).end() });
    expect((await web.search()).failed).toMatchObject([{ reason: expect.stringContaining("search.formats") }]);
    const providers = readProviders(["searxng", "mojeek=http://mojeek.example"]);
    const { signal } = new AbortController();
    const found = await searchWeb({ ...web.parts, providers }, { query: "x", signal });
    expect(found).toMatchObject({ provider: "mojeek", failed: [{ reason: "no URL is configured for searxng" }] });
  });
});
