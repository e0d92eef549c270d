import { McpServer } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import type { Caller } from "../core/principal.ts";
import { Changes } from "./changes.ts";
import { LegacySessions } from "./legacy-sessions.ts";

const caller: Caller = {
  principal: { id: "key", name: "key", namespace: "default", role: "agent" },
  requestId: "one",
};

function post(body: object, headers: Record<string, string> = {}): [Request, { parsedBody: object }] {
  const all = { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers };
  return [new Request("http://localhost/mcp", { method: "POST", headers: all }), { parsedBody: body }];
}

it("a session that nobody uses expires with what it left behind; one with a request or stream under way does not", async () => {
  const ended: string[] = [];
  await using sessions = new LegacySessions({
    build: () => new McpServer({ name: "test", version: "1" }),
    changes: new Changes(),
    follow: async () => () => undefined,
    endSession: async (_, session) => void ended.push(session),
    onError: (error) => ended.push(String(error)),
    idleMs: -1, // whatever is not in use is too old
  });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } };
  const hello = { jsonrpc: "2.0", id: 1, method: "initialize", params };
  const { response } = await sessions.handle(...post(hello), caller);
  await response.text();
  const id = response.headers.get("mcp-session-id") ?? "";
  const ping = () =>
    sessions.handle(...post({ jsonrpc: "2.0", id: 2, method: "ping" }, { "mcp-session-id": id }), caller);

  const { done } = await ping();
  sessions.expire();
  expect(ended).toEqual([]);
  done?.();
  sessions.expire();
  await expect.poll(() => ended).toEqual([id]);
  expect((await ping()).response.status).toBe(404);
});
