import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually, type GatewayTest, openGateway } from "./fixture.ts";
import { modern, RawClient, textOf } from "./raw-client.ts";
import { done, type Line, scripted } from "./scripted.ts";
import { hosted } from "./test-pool.ts";

/** Calls that wait, by their text, and the way to answer them. */
const waiting = new Map<string, { message: Line; write: (line: Line) => void }>();
const cancelled: unknown[] = [];
const act = (message: Line, write: (line: Line) => void) => {
  if (message.method === "notifications/cancelled") cancelled.push(message.params?.requestId);
  if (message.method !== "tools/call") return;
  const { text } = (message.params?.arguments ?? {}) as { text: string };
  waiting.set(text, { message, write });
};
const legacy = hosted("legacy", "stdio", scripted(act));
const stateless = hosted("modern", "stdio", scripted(act));

describe("clients of one instance over standard streams", () => {
  let at: GatewayTest;
  let token: string;
  beforeAll(async () => {
    at = await openGateway([legacy, stateless]);
    token = await at.token();
  });
  afterAll(() => at[Symbol.asyncDispose]());
  const answer = (text: string) => {
    const { message, write } = waiting.get(text) ?? {};
    write?.(done(message?.id, text));
  };

  it("[S132] with the same ids and tokens each get their own answers and progress", async () => {
    const { starts } = at.pool;
    const clients = await Promise.all([1, 2].map(() => new RawClient(at.url(legacy), { "x-api-key": token }).open()));
    expect(at.pool.starts).toBe(starts + 1);
    const calls = clients.map((client, index) => {
      const params = { name: "wait", arguments: { text: `call ${index}` }, _meta: { progressToken: 1 } };
      return client.post({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    });
    await eventually(() => waiting.size).toBe(2);
    const [first, second] = [waiting.get("call 0"), waiting.get("call 1")];
    expect(first?.message.id).not.toBe(second?.message.id);
    const tokenOf = (line?: Line) => (line?.params?._meta as { progressToken: unknown } | undefined)?.progressToken;
    const progress = { progressToken: tokenOf(second?.message), progress: 5 };
    second?.write({ jsonrpc: "2.0", method: "notifications/progress", params: progress });
    answer("call 1");
    answer("call 0");
    const [one, two] = await Promise.all(calls);
    expect(one?.messages).toEqual([{ ...done(1, "call 0") }]);
    expect(two?.messages).toEqual([
      { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 5 } },
      done(1, "call 1"),
    ]);
  });

  it("[S132] cancel their own calls alone", async () => {
    const [one, two] = await Promise.all(
      [1, 2].map(() => new RawClient(at.url(legacy), { "x-api-key": token }).open()),
    );
    const calls = [one, two].map((client, index) => client?.call("wait", { text: `cancel ${index}` }));
    await eventually(() => waiting.has("cancel 0") && waiting.has("cancel 1")).toBe(true);
    await two?.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } });
    await eventually(() => cancelled).toEqual([waiting.get("cancel 1")?.message.id]);
    answer("cancel 0");
    expect(textOf((await calls[0]) ?? {})).toBe("cancel 0");
    expect((await calls[1])?.error?.message).toContain("cancelled");
  });

  it("[S135] of other keys have an instance of their own", async () => {
    await new RawClient(at.url(legacy), { "x-api-key": token }).open();
    const { starts } = at.pool;
    await new RawClient(at.url(legacy), { "x-api-key": await at.token() }).open();
    expect(at.pool.starts).toBe(starts + 1);
  });

  it("get no log message that may be another's (2026-07-28), and end a call by leaving", async () => {
    const client = new RawClient(at.url(stateless), { "x-api-key": token });
    const post = (text: string) => {
      const { body, fields } = modern("tools/call", { name: "wait", arguments: { text } }, "wait");
      return client.post(body, fields);
    };
    const calls = [post("log 0"), post("log 1")];
    await eventually(() => waiting.has("log 0") && waiting.has("log 1")).toBe(true);
    const log = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "whose?" } };
    waiting.get("log 0")?.write(log);
    answer("log 1");
    expect((await calls[1])?.messages).toEqual([done(1, "log 1")]);
    waiting.get("log 0")?.write(log);
    answer("log 0");
    expect((await calls[0])?.messages).toEqual([log, done(1, "log 0")]);
    const leaving = new AbortController();
    const { body, fields } = modern("tools/call", { name: "wait", arguments: { text: "left" } }, "wait");
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "x-api-key": token,
    };
    const call = fetch(at.url(stateless), {
      method: "POST",
      headers: { ...headers, ...fields },
      body: JSON.stringify(body),
      signal: leaving.signal,
    }).catch(() => undefined);
    await eventually(() => waiting.has("left")).toBe(true);
    leaving.abort();
    await call;
    await eventually(() => cancelled.at(-1)).toBe(waiting.get("left")?.message.id);
    await eventually(() => at.pool.leases()).toBe(0);
  });
});
