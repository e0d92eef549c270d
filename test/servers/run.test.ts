import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { ServerLink } from "../../packages/server/src/core/server-link.ts";
import { findLeaks } from "../leaks.ts";
import {
  anybody,
  callerOf,
  callOver,
  callTool,
  deploy,
  enginesOfServers,
  openServers,
  type TestServers,
} from "./fixture.ts";

const caller = callerOf();
const any = new AbortController().signal;

describe.each(enginesOfServers)("a hosted server on %s", (engine) => {
  let service: TestServers;
  beforeAll(async () => {
    service = await openServers(engine);
  }, 120_000);
  afterAll(() => service[Symbol.asyncDispose]());
  const idOf = async (name = "made") => (await service.servers.get(caller, name)).id;
  const connect = async (name = "made"): Promise<ServerLink> =>
    service.serverPool.connect(caller, await idOf(name), anybody, any);
  const typesOf = (name: string) =>
    service.events
      .filter(({ type, data }) => type.startsWith("server.") && "name" in data && data.name === name)
      .map(({ type }) => type);

  it("answers over HTTP once its first version has passed its check, which leaves no data and no program", async () => {
    const version = await deploy(service, ["one", "http", "--migrate"]);
    expect(version).toMatchObject({ state: "ready", error: null, held: false });
    expect(version.contact).toMatchObject({ transport: "http", path: "/mcp", era: "legacy", tools: 3 });
    expect(await callTool(service, "label")).toBe("one");
    expect(await callTool(service, "count")).toBe("1");
    expect(await service.servers.status(caller, "made")).toMatchObject({ state: "running", instances: 1 });
  });

  it("stops when nobody uses it, holds nothing then, and goes on with its data at the next call", async () => {
    await deploy(service, ["idle", "http"], { name: "idle", config: { idleTimeoutMs: 1_000 } });
    expect(await callTool(service, "count", {}, { name: "idle" })).toBe("1");
    const link = await connect("idle");
    await sleep(1_500);
    expect((await service.servers.status(caller, "idle")).state).toBe("running"); // it is leased
    link.release();
    await vi.waitFor(async () => expect((await service.servers.status(caller, "idle")).state).toBe("stopped"), {
      timeout: 10_000,
      interval: 50,
    });
    expect(link.ended.aborted).toBe(true);
    await service.servers.stop(caller, "made");
    // A stopped server has its folder and its range of uids, and nothing else.
    const left = findLeaks(service.home).filter((leak) => !/^(folder|uid range)/.test(leak));
    expect(left).toEqual([]);
    expect(await callTool(service, "count", {}, { name: "idle" })).toBe("2");
    expect(typesOf("idle")).toContain("server.stopped");
  });

  it("comes back after its program was killed, with an error for the call under way", async () => {
    const link = await connect();
    const pid = Number(await callOver(link, "pid"));
    expect(pid).toBeGreaterThan(1);
    const underWay = callOver(link, "sleep", { seconds: 60 }).catch((error: Error) => error.message);
    await callOver(link, "exit", { code: 9 }).catch(() => undefined);
    await vi.waitFor(() => expect(link.ended.aborted).toBe(true), { timeout: 10_000 });
    expect(link.ended.reason).toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/exit code 9(.|\n)*the outcome of calls under way is unknown/),
    });
    expect(await underWay).toMatch(/ended|closed|reset|hang up|unavailable/i);
    link.release();
    expect(await callTool(service, "label")).toBe("one");
    const again = await connect();
    expect(again.incarnation).not.toBe(link.incarnation);
    again.release();
    expect(typesOf("made")).toContain("server.crashed");
  });

  it("redeploys under calls: each one is answered, by one version after the other, and counts once", async () => {
    await deploy(service, ["v1", "http"], { name: "busy" });
    const seen: string[] = [];
    const counts: number[] = [];
    let isOver = false;
    const calls = (async () => {
      while (!isOver) {
        const link = await connect("busy");
        seen.push(await callOver(link, "label"));
        counts.push(Number(await callOver(link, "count")));
        link.release();
        await sleep(20);
      }
    })();
    const second = await deploy(service, ["v2", "http"], { name: "busy" });
    expect(second).toMatchObject({ number: 2, state: "ready" });
    await sleep(200);
    isOver = true;
    await calls;
    expect([...new Set(seen)]).toEqual(["v1", "v2"]);
    expect(seen).toEqual([...seen].sort());
    expect(counts).toEqual(counts.map((_, at) => at + 1));
  });

  it("a version that fails its check never takes calls, and the one before never stops", async () => {
    const link = await connect("busy");
    const failed = await deploy(service, ["v3", "http", "--fail"], { name: "busy" });
    expect(failed.state).toBe("failed");
    expect(failed.error).toMatch(/^check: the program ended before it answered: exit code 3/);
    expect(link.ended.aborted).toBe(false);
    expect(await callOver(link, "label")).toBe("v2");
    link.release();
    expect((await service.servers.get(caller, "busy")).current).toBe(2);
    expect(typesOf("busy")).toContain("server.failed");
  });

  it("[S123] a version that spoils data in its check, or as it takes over, spoils no data of the one before", async () => {
    await callTool(service, "write", { name: "poison", text: "x" }, { name: "busy" });
    const before = await callTool(service, "list", {}, { name: "busy" });
    expect((await deploy(service, ["bad", "mute", "--migrate", "--fail"], { name: "busy" })).state).toBe("failed");
    const late = await deploy(service, ["late", "http", "--migrate", "--fail-later"], { name: "busy" });
    expect(late).toMatchObject({ state: "failed", step: "check" });
    expect(await callTool(service, "list", {}, { name: "busy" })).toBe(before);
    expect(await callTool(service, "label", {}, { name: "busy" })).toBe("v2");
  });

  it("rolls back to an earlier version, with the data of now or of then", async () => {
    const first = await deploy(service, ["old", "http"], { name: "back" });
    await callTool(service, "count", {}, { name: "back" });
    await deploy(service, ["new", "http"], { name: "back" });
    expect(await callTool(service, "count", {}, { name: "back" })).toBe("2");
    await service.servers.rollback(caller, "back", first.number, { data: false });
    expect(await callTool(service, "label", {}, { name: "back" })).toBe("old");
    expect(await callTool(service, "count", {}, { name: "back" })).toBe("3");
    await service.servers.rollback(caller, "back", 2, { data: true });
    expect(await callTool(service, "label", {}, { name: "back" })).toBe("new");
    // The data of version 2 are those that version 1 found when it came back.
    expect(await callTool(service, "count", {}, { name: "back" })).toBe("3");
    await expect(service.servers.rollback(caller, "back", 2, { data: false })).rejects.toMatchObject({
      code: "conflict",
    });
    await expect(service.servers.rollback(caller, "back", 9, { data: false })).rejects.toMatchObject({
      code: "not_found",
    });
  });

  it("over stdio has an instance for each principal and capability set, and /data for each principal", async () => {
    const version = await deploy(service, ["lines", "stdio"], { name: "lines" });
    expect(version.contact).toMatchObject({ transport: "stdio", era: "legacy", tools: 3, path: "" });
    const ann = { principal: "ann", capabilities: "plain" };
    const countAs = (who: typeof ann) => callTool(service, "count", {}, { name: "lines", who });
    expect(await countAs(ann)).toBe("1");
    expect(await countAs({ ...ann, capabilities: "sampling" })).toBe("2");
    expect(await countAs({ principal: "bob", capabilities: "plain" })).toBe("1");
    expect((await service.servers.status(caller, "lines")).instances).toBe(3);
    await deploy(service, ["lines2", "stdio"], { name: "lines" });
    expect(await callTool(service, "label", {}, { name: "lines", who: ann })).toBe("lines2");
    expect(await countAs(ann)).toBe("3");
  });
});
