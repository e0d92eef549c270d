import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Role } from "../../packages/server/src/core/scope.ts";
import { gatewayLimits } from "../../packages/server/src/gateway/limits.ts";
import { callText, connectTo, fixtureServer, type GatewayTest, openGateway } from "./fixture.ts";
import { modern, RawClient, textOf } from "./raw-client.ts";

const legacy = fixtureServer("legacy", "http");
const other = fixtureServer("legacy", "stdio");
const stateless = fixtureServer("modern", "http");
const elsewhere = fixtureServer("legacy", "stdio", "1", "elsewhere");

describe("the door of the gateway", () => {
  let at: GatewayTest;
  let token: string;
  beforeAll(async () => {
    at = await openGateway([legacy, other, stateless, elsewhere]);
    token = await at.token();
  });
  afterAll(async () => {
    await at[Symbol.asyncDispose]();
    expect(at.server.errors).toEqual([]);
  });
  const raw = (of: typeof legacy, key = token) => new RawClient(at.url(of), { "x-api-key": key });
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };

  it("[HOS-09] takes the key of S0's client configuration, and the same as a bearer token", async () => {
    const client = await connectTo(at.url(legacy), token, "legacy");
    expect(await callText(client, "echo", { text: "with X-API-Key" })).toBe("with X-API-Key");
    await client.close();
    const bearer = await new RawClient(at.url(legacy), { authorization: `Bearer ${token}` }).open();
    expect(textOf(await bearer.call("echo", { text: "with Bearer" }))).toBe("with Bearer");
  });

  it("[S130] lets nobody in without a key, or with one that may not use the server", async () => {
    const anonymous = await new RawClient(at.url(legacy), {}).post(list);
    expect([anonymous.status, anonymous.messages[0]?.error]).toEqual([401, expect.anything()]);
    const keyOf = async (role: Role) =>
      (await at.server.keyring.issue({ name: role, namespace: "default", role })).token;
    expect((await raw(legacy, await keyOf("viewer")).post(list)).status).toBe(403);
    expect((await raw(legacy, await keyOf("operator")).post(list)).status).toBe(400); // it has no session
  });

  it("[S130] lets a key with scopes reach the servers that these name, whatever its role", async () => {
    const authenticate = async (scopes: string) => {
      return { id: "k", name: "k", namespace: "default", role: "admin", scopes: scopes.split(",") };
    };
    await using scoped = await openGateway([legacy], { keyring: { authenticate } });
    for (const [scopes, status] of [
      [`server:${legacy.id}`, 400],
      [`server:${legacy.id}:echo`, 400],
      ["server:ffffffffffffffff", 403],
      ["use,read", 403],
      ["none", 403],
    ] as const) {
      const { status: given } = await new RawClient(scoped.url(legacy), { "x-api-key": scopes }).post(list);
      expect([scopes, given]).toEqual([scopes, status]); // 400: it is in, and has no session
    }
  });

  it("[S130] finds a server of another namespace no more than one that there is not", async () => {
    const none = { ...legacy, id: "0123456789abcdef" };
    const [foreign, missing] = [await raw(elsewhere).post(list), await raw(none).post(list)];
    expect([foreign.status, missing.status]).toEqual([404, 404]);
    const shown = ({ text }: { text: string }) => text.replace(/[0-9a-f]{16}|req_[\w-]+/g, "");
    expect(shown(foreign)).toBe(shown(missing));
    expect(await at.pool.leases()).toBe(0);
  });

  it("[S135] a session is nobody's but its key's, and of no other server", async () => {
    const session = await raw(legacy).open();
    const stranger = await at.token();
    expect((await session.with({ "x-api-key": stranger }).post(list)).status).toBe(404);
    const id = (await raw(legacy).post(initialize())).headers.get("mcp-session-id") ?? "";
    expect((await raw(other).with({ "mcp-session-id": id }).post(list)).status).toBe(404);
    const leaving = new AbortController();
    const listening = await raw(legacy, stranger).listen(leaving.signal, { "mcp-session-id": id });
    expect(listening.status).toBe(404);
    expect((await raw(legacy).with({ "mcp-session-id": id }).post(list)).status).toBe(200);
  });

  it("[S130] takes method and tool from the body, and refuses fields that say something else", async () => {
    const { body, fields } = modern("tools/call", { name: "echo", arguments: { text: "a" } }, "echo");
    const post = (changes: Record<string, string>) => raw(stateless).post(body, { ...fields, ...changes });
    expect((await post({})).status).toBe(200);
    const base64 = `=?base64?${Buffer.from("echo").toString("base64")}?=`;
    expect((await post({ "mcp-name": base64 })).status).toBe(200);
    for (const changes of [
      { "mcp-name": "crash" },
      { "mcp-method": "tools/list" },
      { "mcp-protocol-version": "2026-07-29" },
      { "mcp-name": "=?base64?####?=" },
    ]) {
      const { status, messages } = await post(changes as Record<string, string>);
      expect([status, messages[0]?.error?.code]).toEqual([400, -32_020]);
    }
    const { "mcp-name": _, ...unnamed } = fields;
    expect((await raw(stateless).post(body, unnamed)).messages[0]?.error?.code).toBe(-32_020);
  });

  it("[S134] mirrors arguments in fields by the body alone, and refuses fields that say something else", async () => {
    const { body, fields } = modern("tools/call", { name: "mirrored", arguments: { region: "zürich" } }, "mirrored");
    const region = `=?base64?${Buffer.from("zürich").toString("base64")}?=`;
    const right = await raw(stateless).post(body, { ...fields, "mcp-param-region": region, "mcp-param-more": "x" });
    expect(textOf(right.messages.at(-1) ?? {})).toBe("zürich");
    const wrong = await raw(stateless).post(body, { ...fields, "mcp-param-region": "berlin" });
    expect([wrong.status, wrong.messages[0]?.error?.code]).toEqual([400, -32_020]);
    const heads = modern("tools/call", { name: "heads", arguments: {} }, "heads");
    const { messages } = await raw(stateless).post(heads.body, {
      ...heads.fields,
      "mcp-param-region": "x",
      cookie: "c=d",
    });
    const sent: string[] = JSON.parse(textOf(messages.at(-1) ?? {}));
    expect(sent.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase())).toEqual([
      ...["host", "accept", "connection", "mcp-protocol-version", "mcp-method", "mcp-name"],
      ...["content-type", "content-length"],
    ]);
    expect(sent.join()).not.toContain(token);
  });

  it.each([
    ["a name twice", '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}'],
    ["half of a pair", '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"\\ud800"}}'],
    ["bytes that are no text", Buffer.from([...Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'), 0xff, 0x22, 0x7d])],
    ["a batch", '[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]'],
    ["an id that is no whole number", '{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}'],
    ["a name that reaches a prototype", '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"__proto__":{}}}'],
    ["nonsense", "{"],
  ])("[S131] refuses a message with %s", async (_, text) => {
    const session = await raw(legacy).open();
    const { status, messages } = await session.post(text);
    expect([status, messages[0]?.error?.code]).toEqual([400, expect.any(Number)]);
  });

  it("[S130] refuses methods that no row names, in either era, and ends no session by that", async () => {
    const session = await raw(legacy).open();
    for (const method of ["tasks/get", "tools/callx", "TOOLS/CALL", "toString", "server/discover"])
      expect((await session.post({ jsonrpc: "2.0", id: 1, method, params: {} })).messages[0]?.error?.code).toBe(
        -32_601,
      );
    for (const method of ["tasks/get", "ping", "logging/setLevel", "resources/subscribe"]) {
      const { body, fields } = modern(method);
      const { status, messages } = await raw(stateless).post(body, fields);
      expect([status, messages[0]?.error?.code]).toEqual([404, -32_601]);
    }
    expect((await session.post(list)).status).toBe(200);
  });

  it("[S133] bounds sessions and streams of one key", async () => {
    const key = await at.token();
    const client = raw(legacy, key);
    const ids: string[] = [];
    for (let count = 0; count < gatewayLimits.sessionsPerKey; count++)
      ids.push((await client.post(initialize())).headers.get("mcp-session-id") ?? "");
    expect((await client.post(initialize())).status).toBe(429);
    expect((await raw(legacy).post(initialize())).status).toBe(200);
    const ended = await fetch(at.url(legacy), {
      method: "DELETE",
      headers: { "x-api-key": key, "mcp-session-id": ids[0] ?? "" },
    });
    expect(ended.status).toBe(200);
    expect((await client.with({ "mcp-session-id": ids[0] ?? "" }).post(list)).status).toBe(404);
    expect((await client.post(initialize())).status).toBe(200);
    const leaving = new AbortController();
    const statuses: number[] = [];
    for (const id of ids.slice(1, gatewayLimits.streamsPerKey + 2))
      statuses.push((await client.listen(leaving.signal, { "mcp-session-id": id })).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(gatewayLimits.streamsPerKey);
    expect(statuses.at(-1)).toBe(429);
    leaving.abort();
  });
});

function initialize() {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  return { jsonrpc: "2.0", id: 0, method: "initialize", params };
}
