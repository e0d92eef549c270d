import { execFile } from "node:child_process";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Caisson } from "../../packages/sdk/src/index.ts";
import { publicWorld, type WebHost, webHost } from "../egress/hosts.ts";
import { engines, root } from "../harness.ts";
import type { Api } from "../http/api.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { resultPages } from "../web/result-pages.ts";
import { connectClient } from "./client.ts";

const page = "<title>A page</title><p>Its text.</p><a href='/more'>more</a>";

interface Told {
  code: number;
  stdout: string;
  stderr: string;
}

describe.each(engines)("web tools of a daemon with %s", (engine) => {
  let server: TestServer;
  let host: WebHost;
  let operator: Api;
  let client: Client;
  let key: string;
  beforeAll(async () => {
    host = await webHost({
      answer: ({ url = "" }, response) => {
        if (url.startsWith("/search"))
          response.setHeader("content-type", "application/json").end(resultPages.searxng.results);
        else response.setHeader("content-type", "text/html").end(page);
      },
    });
    server = await openTestServer(engine, {
      search: ["searxng=http://searx.example.com", "mojeek"],
      world: publicWorld(() => host.port),
    });
    operator = await server.as("operator");
    await allow(["allowed.example.com:80", "searx.example.com:80"]);
    client = await connectClient(server, "2026-07-28");
    key = (await server.keyring.issue({ name: "cli", namespace: "default", role: "agent" })).token;
  });
  afterAll(async () => {
    await client?.close();
    await server?.[Symbol.asyncDispose]();
    await host?.[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  const allow = (rules: string[], more = {}) =>
    operator.send("PUT", "/api/v1/egress/policy", { json: { allow: rules, ...more } });
  const call = async (name: string, input: object) => {
    const { structuredContent, isError, content } = await client.callTool({ name, arguments: { ...input } });
    return { result: structuredContent, isError: isError === true, text: JSON.stringify(content) };
  };
  const caisson = (...args: string[]): Promise<Told> => {
    const env = { ...process.env, CAISSON_URL: server.base, CAISSON_API_KEY: key, CAISSON_HOME: server.home };
    return new Promise((resolve) => {
      execFile(join(root, "caisson"), args, { env }, (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr }),
      );
    });
  };

  it("[WEB-02] fetch_webpage reads a page of an allowed host, the same by MCP, SDK and CLI, and it is in the log", async () => {
    const url = "http://allowed.example.com/a";
    const { result } = await call("fetch_webpage", { url });
    expect(result).toMatchObject({
      ...{ url, status: 200, title: "A page", truncated: false, next_offset: null },
      content: "Its text.\n\n[more](http://allowed.example.com/more)",
    });
    const sdk = new Caisson({ url: server.base, key });
    expect((await sdk.tools.call("fetch_webpage", { url })).result).toEqual(result);
    const { code, stdout } = await caisson("web", "fetch", url, "--json");
    expect({ code, json: JSON.parse(stdout) }).toEqual({ code: 0, json: result });
    expect((await caisson("web", "fetch", url)).stdout).toContain("Its text.");
    const { json } = await operator.get("/api/v1/egress/log?verdict=allowed");
    expect(json[0]).toMatchObject({ host: "allowed.example.com", port: 80, rule: "allowed.example.com:80" });
  });

  it("[WEB-01] web_search asks the provider that is allowed, the same by MCP, SDK and CLI", async () => {
    const { result } = await call("web_search", { query: "some words", max_results: 1 });
    expect(result).toEqual({
      query: "some words",
      provider: "searxng",
      results: [{ title: "First & best", url: "https://one.example/a?b=c", snippet: "What it is about." }],
      failed: [],
    });
    const sdk = new Caisson({ url: server.base, key });
    const input = { query: "some words", max_results: 1 };
    expect((await sdk.tools.call("web_search", input)).result).toEqual(result);
    const { code, stdout } = await caisson("web", "search", "some words", "--limit", "1", "--json");
    expect({ code, json: JSON.parse(stdout) }).toEqual({ code: 0, json: result });
  });

  it("[WEB-01] [WEB-02] neither reaches a host that is not allowed: the refusal says which, and how to ask", async () => {
    const before = host.connections();
    for (const [name, input, what] of [
      ["fetch_webpage", { url: "http://other.example.com/" }, "other.example.com:80"],
      ["web_search", { query: "x", provider: "mojeek" }, "www.mojeek.com:443"],
    ] as const) {
      const { isError, text } = await call(name, input);
      expect(isError).toBe(true);
      expect(text).toContain(`${what} is not allowed`);
      expect(text).toContain("request_egress");
    }
    expect(host.connections()).toBe(before);
    const { code, stderr } = await caisson("web", "fetch", "http://other.example.com/");
    expect(code).not.toBe(0);
    expect(stderr).toContain("other.example.com:80 is not allowed");
  });

  it("[WEB-02] fetch_webpage waits for a human where names are asked about, and goes on when they say yes", async () => {
    await allow([], { unknown: "ask" });
    const waiting = call("fetch_webpage", { url: "http://asked.example.com/" });
    const question = await vi.waitFor(
      async () => {
        const { json } = await operator.get("/api/v1/approvals?state=pending&kind=egress");
        expect(json[0]).toMatchObject({ subject: "asked.example.com:80" });
        return json[0].id as string;
      },
      { timeout: 30_000, interval: 20 },
    );
    await operator.post(`/api/v1/approvals/${question}/decide`, { approve: true });
    expect((await waiting).result).toMatchObject({ title: "A page" });
  });

  it("[WEB-03] browser_fetch says how to bring the browser image where nobody has", async () => {
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("browser_fetch");
    const { isError, text } = await call("browser_fetch", { url: "http://allowed.example.com/" });
    expect(isError).toBe(true);
    expect(text).toContain("browser_fetch needs the image browser");
    expect(text).toContain("caisson image import browser");
    const { code, stderr } = await caisson(
      "web",
      "browser",
      "http://allowed.example.com/",
      "--wait-for",
      ".x",
      "--screenshot",
    );
    expect(code).not.toBe(0);
    expect(stderr).toContain("caisson image import browser");
  });
});
