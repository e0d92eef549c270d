import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { httpLimits } from "../../packages/server/src/http/limits.ts";
import { mcpLimits } from "../../packages/server/src/mcp-protocol/limits.ts";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";

const [engine = "container"] = engines;
const hello = {
  ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } },
};
const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };

describe("/mcp", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engine);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  const key = async (namespace = "default") =>
    (await server.keyring.issue({ name: "x", namespace, role: "agent" })).token;
  const send = (token: string, body: unknown, headers: Record<string, string> = {}, query = "", { base } = server) =>
    fetch(`${base}/mcp${query}`, {
      method: "POST",
      headers: {
        ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
        ...{ "x-api-key": token, ...headers },
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  const open = async (token: string) => {
    const response = await send(token, hello);
    await response.text();
    return response.headers.get("mcp-session-id") ?? "";
  };

  it("does not know a session of another key, whatever its namespace", async () => {
    const [mine, other, foreign] = await Promise.all([key(), key(), key("elsewhere")]);
    const session = { "mcp-session-id": await open(mine) };
    expect((await send(mine, list, session)).status).toBe(200);
    for (const token of [other, foreign]) {
      const refused = await send(token, list, session);
      expect(refused.status).toBe(404);
      const never = await send(token, list, { "mcp-session-id": "none" });
      expect(await refused.json()).toEqual(await never.json());
      const gone = await fetch(`${server.base}/mcp`, { method: "DELETE", headers: { ...session, "x-api-key": token } });
      expect(gone.status).toBe(404);
    }
    expect((await send(mine, list, session)).status).toBe(200);
  });

  it("ends a session at DELETE: it is not found then", async () => {
    const token = await key();
    const session = { "mcp-session-id": await open(token) };
    const ended = await fetch(`${server.base}/mcp`, { method: "DELETE", headers: { ...session, "x-api-key": token } });
    expect(ended.status).toBe(200);
    expect((await send(token, list, session)).status).toBe(404);
  });

  it("opens so many sessions for a key and no more, and others are not hindered", async () => {
    const token = await key();
    for (let count = 0; count < mcpLimits.sessionsPerKey; count += 32)
      await Promise.all(Array.from({ length: 32 }, () => open(token)));
    const refused = await send(token, hello);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({
      jsonrpc: "2.0",
      error: { message: expect.stringContaining("DELETE") },
    });
    expect(await open(await key())).not.toBe("");
  });

  it("counts each message of a batch against the rate of its key", async () => {
    await using limited = await openTestServer(engine, { rate: { perSecond: 0.001, burst: 150 } });
    const { token } = await limited.keyring.issue({ name: "x", namespace: "default", role: "agent" });
    const post = (body: object, headers = {}) => send(token, body, headers, "", limited);
    const opened = await post(hello);
    await opened.text();
    const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
    const batch = Array.from({ length: 100 }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" }));
    const answered = await post(batch, session);
    expect([answered.status, (await answered.text()).match(/"result"/g)?.length]).toEqual([200, 100]);
    const refused = await post(batch, session);
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      { error: { data: { code: "limit_exceeded" } } },
    ]);
    expect((await post(batch.slice(0, 40), session)).status).toBe(200);
  });

  it.each([
    ["what is not JSON", "{", {}, "", 400, -32_700],
    ["a body that is too large", "x".repeat(httpLimits.codeBodyBytes + 1), {}, "", 413, -32_000],
    ["another media type", "hello", { "content-type": "text/plain" }, "", 415, -32_000],
    ["a set of tools that there is not", hello, {}, "?tools=core,magic", 400, -32_600],
    ["a parameter that there is not", hello, {}, "?tool=core", 400, -32_600],
    ["a foreign origin", hello, { origin: "https://elsewhere.example" }, "", 403, -32_000],
    ["a wrong key", hello, { "x-api-key": `csn_${"A".repeat(43)}` }, "", 401, -32_000],
  ])("refuses %s in words of JSON-RPC", async (_, body, headers, query, status, code) => {
    const refused = await send(await key(), body, headers, query);
    expect(refused.status).toBe(status);
    expect(refused.headers.get("content-type")).toContain("application/json");
    expect(await refused.json()).toMatchObject({
      jsonrpc: "2.0",
      id: null,
      error: { code, message: expect.any(String) },
    });
  });

  it("offers the core set unless told, and what is named in any order", async () => {
    const names = async (query: string) => {
      const token = await key();
      const opened = await send(token, hello, {}, query);
      await opened.text();
      const answer = await send(token, list, { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" });
      return [...(await answer.text()).matchAll(/"name":"(\w+)"/g)].map(([, name]) => name);
    };
    const core = await names("");
    expect(core).toContain("execute_code");
    expect(await names("?tools=core")).toEqual(core);
    const more = await names("?tools=files,core");
    expect(more.length).toBeGreaterThan(core.length);
    expect((await names("?tools=all")).length).toBeGreaterThan(more.length);
  });

  it("tells a client where to go on, and refuses what it no longer has", async () => {
    const token = await key();
    const session = { "mcp-session-id": await open(token), "x-api-key": token, accept: "text/event-stream" };
    const gone = await fetch(`${server.base}/mcp`, { headers: { ...session, "last-event-id": "zzz" } });
    expect(gone.status).toBe(400);
    const named = { "mcp-session-id": session["mcp-session-id"], "mcp-protocol-version": "2025-11-25" };
    const told = await (await send(token, list, named)).text();
    const [, first = ""] = /^id: (\w+)$/m.exec(told) ?? [];
    const again = await fetch(`${server.base}/mcp`, { headers: { ...session, "last-event-id": first } });
    expect(await again.text()).toContain("execute_code");
  });
});
