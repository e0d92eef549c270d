import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { httpLimits } from "../../packages/server/src/http/limits.ts";
import { UnreadResponses } from "../../packages/server/src/http/unread-responses.ts";
import { engines } from "../harness.ts";
import { openTestServer } from "./server.ts";

const [engine = "container"] = engines;

/** An answer that its client does not read: more than any kernel takes on the way. */
async function unreadAnswer(bytes: number) {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.pause();
  client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const [, response] = (await once(server, "request")) as [unknown, ServerResponse];
  return {
    client,
    response,
    begin: () => response.end(Buffer.alloc(bytes)),
    async [Symbol.asyncDispose]() {
      client.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

it("a connection is cut whose client leaves an answer where it is, and none on which there is nothing to read", async () => {
  const unread = new UnreadResponses();
  const stalledMs = httpLimits.stalledMs.large;
  await using left = await unreadAnswer(32 * 1024 ** 2);
  await using read = await unreadAnswer(32 * 1024 ** 2);
  await using silent = await unreadAnswer(0);
  for (const { response } of [left, read, silent]) unread.add("key", response);
  read.response.write(Buffer.alloc(32 * 1024 ** 2));
  await setImmediate(); // or both would go out as one piece
  left.begin();
  read.begin();
  const cut = () => [left, read, silent].map(({ response }) => response.socket?.destroyed);
  const before = read.response.writableLength;
  unread.endStalled(1_000);
  unread.endStalled(1_000 + stalledMs - 1);
  expect(cut()).toEqual([false, false, false]);
  let taken = 0;
  read.client.on("data", (piece: Buffer) => {
    taken += piece.length;
    if (taken > 36 * 1024 ** 2) read.client.pause(); // all of the first piece, and not of the second
  });
  read.client.resume();
  await vi.waitFor(() => expect(read.response.writableLength).toBeLessThan(before), { timeout: 20_000, interval: 1 });
  unread.endStalled(1_000 + stalledMs);
  expect(cut()).toEqual([true, false, false]);
  unread.endStalled(1_000 + 3 * stalledMs);
  expect(cut()).toEqual([expect.anything(), true, false]);
});

it("large answers are kept for nobody who reads none: by REST and by MCP", async () => {
  const unread = new UnreadResponses();
  const looked = vi.spyOn(unread, "endStalled");
  await using server = await openTestServer(engine, { unread, stalledEveryMs: 10 });
  const { token, key } = await server.keyring.issue({ name: "agent", namespace: "default", role: "agent" });
  const headers = { "x-api-key": token, "content-type": "application/json" };
  const post = (path: string, body: object, more: object = {}) =>
    fetch(`${server.base}${path}`, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });
  const tool = (name: string, body: object) => post(`/api/v1/tools/${name}`, body);
  const code = "open('output/large', 'w').write('x' * 200_000)";
  expect((await tool("execute_code", { code })).status).toBe(200);
  const method = "resources/read";
  const uri = "caisson://default/output/large";
  const about = "io.modelcontextprotocol";
  const version = "2026-07-28";
  const _meta = {
    [`${about}/protocolVersion`]: version,
    [`${about}/clientCapabilities`]: {},
    [`${about}/clientInfo`]: { name: "test", version: "1" },
  };
  const accept = "application/json, text/event-stream";
  const named = { accept, "mcp-protocol-version": version, "mcp-method": method, "mcp-name": uri };
  const large = {
    rest: async () => (await tool("get_artifacts", { path: "large" })).status,
    mcp: async () => (await post("/mcp", { jsonrpc: "2.0", id: 1, method, params: { uri, _meta } }, named)).status,
  };
  expect(await large.rest()).toBe(200);
  expect(await large.mcp()).toBe(200);
  {
    await using kept = await unreadAnswer(httpLimits.unreadBytesPerKey + 32 * 1024 ** 2);
    unread.add(key.id, kept.response);
    kept.begin();
    expect(await large.rest()).toBe(429);
    expect(await large.mcp()).toBe(429);
    expect((await tool("list_files", {})).status).toBe(200);
    const other = await server.as("agent");
    expect((await other.send("POST", "/api/v1/tools/get_artifacts", { json: { path: "large" } })).status).toBe(200);
  }
  await vi.waitFor(async () => expect([await large.rest(), await large.mcp()]).toEqual([200, 200]), 20_000);
  expect(looked).toHaveBeenCalled();
  expect(server.errors).toEqual([]);
});
