import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  callText,
  connectTo,
  eventually,
  fixtureServer,
  type GatewayTest,
  openGateway,
  startFixture,
} from "./fixture.ts";
import { modern, RawClient, textOf } from "./raw-client.ts";
import { done, scripted, welcome } from "./scripted.ts";
import { hosted } from "./test-pool.ts";

const overHttp = fixtureServer("legacy", "http");
const overStdio = fixtureServer("legacy", "stdio");
const stateless = [fixtureServer("modern", "http"), fixtureServer("modern", "stdio")];
let calls = 0;
/** Never answers `hang`, and never asks for roots again. */
const hanging = hosted(
  "legacy",
  "stdio",
  scripted(({ id, method, params }, write) => {
    if (method !== "tools/call") return;
    calls += 1;
    if (params?.name === "roots") write({ jsonrpc: "2.0", id: "r", method: "roots/list" });
    if (params?.name !== "hang") write(done(id));
  }),
);

let protocolVersion = "2025-11-25";
/** Speaks another version from one start to the next. */
const fickle = hosted(
  "legacy",
  "stdio",
  scripted(
    ({ id, method }, write) => method === "tools/call" && write(done(id)),
    () => ({ ...welcome, protocolVersion }),
  ),
);

describe("a session", () => {
  let at: GatewayTest;
  let token: string;
  beforeAll(async () => {
    at = await openGateway([overHttp, overStdio, ...stateless, hanging, fickle]);
    token = await at.token();
  });
  afterAll(async () => {
    await at[Symbol.asyncDispose]();
    expect(at.server.errors).toEqual([]);
  });
  const both = [
    ["http", overHttp],
    ["stdio", overStdio],
  ] as const;

  it.each(both)(
    "[S136] over %s goes on with the next instance, which knows roots, level and subscriptions",
    async (_, of) => {
      const asked: string[] = [];
      const client = await connectTo(at.url(of), token, "legacy", { roots: { listChanged: true } }, (made) =>
        made.setRequestHandler("roots/list", async () => {
          asked.push("roots");
          return { roots: [{ uri: "file:///only" }] };
        }),
      );
      await client.setLoggingLevel("warning");
      await client.subscribeResource({ uri: "test://watched" });
      const state = async () => JSON.parse(await callText(client, "state"));
      const whole = { level: "warning", roots: "file:///only", subscribed: ["test://watched"] };
      await eventually(state).toEqual(whole);
      const pid = await callText(client, "pid");
      await at.pool.stopAll();
      expect(await state()).toEqual(whole);
      expect(await callText(client, "pid")).not.toBe(pid);
      expect(asked).toEqual(["roots"]);
      await client.close();
    },
  );

  it("[S136] hears that its lists may have changed when another version takes over", async () => {
    const heard: string[] = [];
    const client = await connectTo(at.url(overHttp), token, "legacy", {}, (made) =>
      made.setNotificationHandler("notifications/tools/list_changed", () => void heard.push("tools")),
    );
    await callText(client, "pid");
    await at.pool.redeploy(overHttp.id, { start: startFixture("http", "2") });
    await callText(client, "pid");
    await eventually(() => heard).toEqual(["tools"]);
    await client.close();
  });

  it("[S136] ends when the next version speaks another protocol", async () => {
    const session = await new RawClient(at.url(overStdio), { "x-api-key": token }).open();
    const { contact } = overStdio;
    await at.pool.redeploy(overStdio.id, { contact: { ...contact, era: "modern", protocolVersion: "2026-07-28" } });
    expect((await session.call("pid")).error?.message).toContain("initialize again");
    expect((await session.post({ jsonrpc: "2.0", id: 1, method: "ping" })).status).toBe(404);
    await at.pool.redeploy(overStdio.id, { contact });
  });

  it("[S136] ends when the next instance answers initialize with another version", async () => {
    const session = await new RawClient(at.url(fickle), { "x-api-key": token }).open();
    expect(await session.call("any")).toEqual(done(7));
    await at.pool.stopAll();
    protocolVersion = "2025-06-18";
    expect((await session.call("any")).error?.message).toContain("the server has changed");
    expect((await session.post({ jsonrpc: "2.0", id: 1, method: "ping" })).status).toBe(404);
  });

  it("[S136] ends when the next instance does not ask for the roots that the first one got", async () => {
    const client = new RawClient(at.url(hanging), { "x-api-key": token });
    const session = await client.open({ roots: {} });
    const asking = session.call("roots");
    await asking;
    await at.pool.stopAll();
    expect((await session.call("any")).error?.message).toContain("did not ask for the client's roots");
    expect((await session.post({ jsonrpc: "2.0", id: 1, method: "ping" })).status).toBe(404);
  }, 30_000);

  it("[S136] learns that the outcome of a call is unknown whose instance has ended, and it is made once", async () => {
    const session = await new RawClient(at.url(hanging), { "x-api-key": token }).open();
    const before = calls;
    const call = session.call("hang");
    await eventually(() => calls).toBe(before + 1);
    await at.pool.stopAll("the server was removed");
    expect((await call).error?.message).toBe("the server was removed: the outcome of the call is unknown");
    expect(await session.call("any")).toEqual(done(7));
    expect(calls).toBe(before + 2);
    const crashed = await new RawClient(at.url(overHttp), { "x-api-key": token }).open();
    const { starts } = at.pool;
    expect((await crashed.call("crash")).error?.message).toMatch(/unknown|ended|no answer/);
    expect(at.pool.starts).toBe(starts);
    await eventually(async () => textOf(await crashed.call("echo", { text: "back" }))).toBe("back");
  });

  it("[S136] [HOS-12] keeps no server awake by a stream, nor by a ping", async () => {
    const session = await new RawClient(at.url(overHttp), { "x-api-key": token }).open();
    const leaving = new AbortController();
    await session.listen(leaving.signal);
    await session.call("pid");
    await eventually(() => at.pool.leases()).toBe(0);
    await at.pool.stopAll();
    const { starts } = at.pool;
    expect((await session.post({ jsonrpc: "2.0", id: 1, method: "ping" })).messages.at(-1)?.result).toEqual({});
    await session.post({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
    expect(at.pool.starts).toBe(starts);
    leaving.abort();
  });

  it.each(stateless)(
    "[S136] of 2026-07-28 listens to one instance after the other, without a lease ($contact.transport)",
    async (of) => {
      const client = new RawClient(at.url(of), { "x-api-key": token });
      const leaving = new AbortController();
      const filter = { toolsListChanged: true, resourceSubscriptions: ["test://watched"] };
      const { body, fields } = modern("subscriptions/listen", { notifications: filter });
      const stream = await fetch(at.url(of), {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "x-api-key": token,
          ...fields,
        },
        body: JSON.stringify({ ...body, id: "mine" }),
        signal: leaving.signal,
      });
      let text = "";
      const reading = (async () => {
        for await (const part of stream.body ?? []) text += Buffer.from(part);
      })().catch(() => undefined);
      await eventually(() => text).toContain("notifications/subscriptions/acknowledged");
      await eventually(() => at.pool.leases()).toBe(0);
      const touch = modern("tools/call", { name: "touch", arguments: {} }, "touch");
      const count = (word: string) => text.split(word).length - 1;
      for (const round of [1, 2]) {
        await expect
          .poll(async () => {
            await client.post(touch.body, touch.fields);
            return count("notifications/tools/list_changed");
          })
          .toBeGreaterThanOrEqual(round);
        await at.pool.stopAll();
      }
      expect(count('"io.modelcontextprotocol/subscriptionId":"mine"')).toBe(count("subscriptionId"));
      expect(count("acknowledged")).toBe(1);
      leaving.abort();
      await reading;
    },
  );

  it("[AUD-02] [OBS-01] has each call of a tool in the log, and in the numbers of its server", async () => {
    const operator = await at.server.as("operator");
    const client = await connectTo(at.url(overHttp), token, "legacy");
    const before = at.server.callStats(overHttp.id);
    await callText(client, "echo", { text: "x" });
    await client.callTool({ name: "fail", arguments: {} });
    await client.callTool({ name: "none", arguments: {} }).catch(() => undefined);
    await client.close();
    const { json } = await operator.get("/api/v1/audit?type=tool.called");
    const rows = json.slice(0, 3).map(({ detail }: { detail: Record<string, unknown> }) => detail);
    expect(rows).toMatchObject([
      { tool: "none", server_id: overHttp.id },
      { tool: "fail", server_id: overHttp.id, verdict: "error", error_code: null },
      { tool: "echo", server_id: overHttp.id, verdict: "ok", session: expect.stringMatching(/^[0-9a-f]{12}$/) },
    ]);
    const after = at.server.callStats(overHttp.id);
    expect([after.calls - before.calls, after.errors - before.errors]).toEqual([3, 2]);
    expect(after.p50Ms).toBeGreaterThan(0);
  });
});
