import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gatewayLimits } from "../../packages/server/src/gateway/limits.ts";
import { type GatewayTest, openGateway } from "./fixture.ts";
import { RawClient } from "./raw-client.ts";
import { done, scripted, welcome } from "./scripted.ts";
import { hosted } from "./test-pool.ts";

const piece = "x".repeat(200 * 1024);

/** Answers all, and tells its client much before that. */
const talker = hosted(
  "legacy",
  "stdio",
  scripted(({ id, method }, write) => {
    if (id === undefined) return;
    if (method !== "tools/call") return write({ jsonrpc: "2.0", id, result: {} });
    for (let at = 0; at < 20; at++)
      write({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: `${at}`, piece } });
    write(done(id));
  }),
);

const instructions = "x".repeat(gatewayLimits.keptBytes);
const boaster = hosted(
  "legacy",
  "stdio",
  scripted(
    () => undefined,
    () => ({ ...welcome, instructions }),
  ),
);

describe("[S133] what a session keeps is bounded:", () => {
  let gateway: GatewayTest;
  let client: RawClient;
  let key: string;
  beforeAll(async () => {
    gateway = await openGateway([talker, boaster]);
    key = await gateway.token();
    client = new RawClient(gateway.url(talker), { "x-api-key": key });
  });
  afterAll(() => gateway[Symbol.asyncDispose]());
  const request = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });

  it("a client's initialize", async () => {
    const clientInfo = { name: "x".repeat(gatewayLimits.keptBytes), version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const { messages } = await client.post(request("initialize", params));
    expect(messages[0]?.error?.message).toBe(`initialize with more than ${gatewayLimits.keptBytes} bytes`);
  });

  it("a server's answer to it", async () => {
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
    const other = new RawClient(gateway.url(boaster), { "x-api-key": key });
    const { messages } = await other.post(request("initialize", params));
    expect(messages[0]?.error?.message).toContain("the server's answer to initialize has more than");
  });

  it("subscriptions and the log level", async () => {
    const session = await client.open();
    const _meta = { x: "x".repeat(gatewayLimits.keptRequestBytes) };
    for (const [method, params] of [
      ["resources/subscribe", { uri: "file:///a", _meta }],
      ["logging/setLevel", { level: "info", _meta }],
    ] as const) {
      const { messages } = await session.post(request(method, params));
      expect(messages[0]?.error?.message).toBe(`${method} with more than ${gatewayLimits.keptRequestBytes} bytes`);
    }
    expect((await session.post(request("resources/subscribe", { uri: "file:///a" }))).messages[0]?.result).toEqual({});
  });

  it("what waits for the client to listen", async () => {
    const session = await client.open();
    await session.call("talk");
    const leaving = new AbortController();
    const { body } = await session.listen(leaving.signal);
    await session.call("talk");
    let text = "";
    for await (const part of (body as ReadableStream).pipeThrough(new TextDecoderStream())) {
      text += part;
      if (text.split('"19"').length > 1) break;
    }
    leaving.abort();
    const uris = [...text.matchAll(/"uri":"(\d+)"/g)].map(([, uri]) => Number(uri));
    const held = uris.slice(0, uris.lastIndexOf(0));
    expect(held).toEqual([0, 1, 2, 3, 4]);
  });
});
