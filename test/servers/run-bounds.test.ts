import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { ServerLink } from "../../packages/server/src/core/server-link.ts";
import { serverLimits } from "../../packages/server/src/servers/limits.ts";
import { soak } from "../harness.ts";
import { callerOf, callOver, callTool, deploy, openServers, readAll, type TestServers } from "./fixture.ts";

const caller = callerOf();
const { signal } = new AbortController();
const MiB = 1024 ** 2;

describe("a hosted server", () => {
  let service: TestServers;
  beforeAll(async () => {
    service = await openServers();
    await deploy(service, ["well", "http"], { name: "well" });
    await deploy(service, ["noisy", "http"], { name: "noisy" });
    await deploy(service, ["lines", "stdio"], { name: "lines" });
  }, 120_000);
  afterAll(() => service[Symbol.asyncDispose]());
  const call = (name: string, tool: string, args: Record<string, unknown> = {}) =>
    callTool(service, tool, args, { name });
  const whoIs = (principal: string) => ({ principal, capabilities: "none" });
  const linkOf = async (principal: string, until = signal) =>
    service.serverPool.connect(caller, (await service.servers.get(caller, "lines")).id, whoIs(principal), until);

  it("[S124] that writes without end keeps the newest of its log, and slows nobody else down", async () => {
    const printing = call("noisy", "print", { lines: 12_000, width: 1_000 });
    await sleep(500);
    const startMs = performance.now();
    for (let at = 0; at < 20; at++) expect(await call("well", "label")).toBe("well");
    expect(performance.now() - startMs).toBeLessThan(5_000);
    expect(await printing).toBe("printed");
    await call("noisy", "print", { lines: 1, width: 7 });
    const { id } = await service.servers.get(caller, "noisy");
    const log = service.serverPool.logOf(id);
    expect(await log.bytes()).toBeLessThanOrEqual(serverLimits.logBytes);
    expect(await log.bytes()).toBeGreaterThan(MiB);
    const text = await readAll(service.servers.logs(caller, "noisy", { follow: false, gone: signal }));
    await vi.waitFor(() => expect(text.trimEnd().endsWith("x")).toBe(true));
  }, 60_000);

  it("[S124] that fills its disk has an error of its own, and others write on", async () => {
    expect(await call("lines", "fill")).toContain("No space left on device");
    expect(await call("lines", "label")).toBe("lines");
    expect(await call("well", "write", { name: "a", text: "b" })).toBe("written");
    await service.servers.delete(caller, "lines");
    await deploy(service, ["lines", "stdio"], { name: "lines" });
  }, 60_000);

  it("follows its log from what is kept to what comes", async () => {
    const leaving = new AbortController();
    const seen: string[] = [];
    const following = (async () => {
      for await (const text of service.servers.logs(caller, "well", { follow: true, gone: leaving.signal }))
        seen.push(text);
    })();
    await vi.waitFor(() => expect(seen.join("")).toContain("version 1 starts"));
    await call("well", "print", { lines: 1, width: 3 });
    await vi.waitFor(() => expect(seen.join("").endsWith("xxx\n")).toBe(true));
    leaving.abort();
    await following;
  });

  it("over stdio has so many instances: the least recently used one makes room, then calls wait, then they are refused", async () => {
    const links: ServerLink[] = [];
    for (let at = 0; at < serverLimits.instances; at++) links.push(await linkOf(`p${at}`));
    expect((await service.servers.status(caller, "lines")).instances).toBe(serverLimits.instances);
    links[3]?.release();
    await sleep(5);
    links[1]?.release();
    const ninth = await linkOf("p8");
    await vi.waitFor(() => expect(links[3]?.ended.aborted).toBe(true));
    expect(links[1]?.ended.aborted).toBe(false);
    const tenth = await linkOf("p9");
    expect(links[1]?.ended.aborted).toBe(true);
    const leaving = new AbortController();
    const waiting = Array.from({ length: serverLimits.waiting }, (_, at) => linkOf(`w${at}`, leaving.signal));
    for (const one of waiting) one.catch(() => undefined);
    await sleep(50);
    await expect(linkOf("late")).rejects.toMatchObject({ code: "limit_exceeded", retryAfterMs: expect.any(Number) });
    ninth.release();
    await Promise.race(waiting.slice(0, 1));
    leaving.abort(new Error("they leave"));
    const given = (await Promise.allSettled(waiting)).flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    expect(given.length).toBeGreaterThan(0);
    for (const link of [...given, ...links, tenth]) link.release();
    await service.servers.stop(caller, "lines");
    expect((await service.servers.status(caller, "lines")).instances).toBe(0);
  }, 60_000);

  it.runIf(soak)(
    "that crashes again and again stays down with its last lines, until a restart",
    async () => {
      await deploy(service, ["frail", "http", "--fail-later"], { name: "frail" });
      await call("frail", "write", { name: "poison", text: "x" });
      await service.servers.stop(caller, "frail");
      const failures: string[] = [];
      for (let at = 0; at < serverLimits.crashes; at++)
        await call("frail", "label").catch((error: Error) => failures.push(error.message));
      expect(failures[0]).toMatch(/the program ended before it listened: exit code 4/);
      const status = await service.servers.status(caller, "frail");
      expect(status).toMatchObject({ state: "crash_loop", failure: expect.stringContaining("exit code 4") });
      await expect(call("frail", "label")).rejects.toMatchObject({ details: { crash_loop: true } });
      const crashes = () => service.events.filter(({ type, data }) => type === "server.crashed" && "failures" in data);
      const last = { name: "frail", failures: serverLimits.crashes, crash_loop: true };
      await vi.waitFor(() => expect(crashes().at(-1)?.data).toMatchObject(last));
      await service.servers.restart(caller, "frail");
      expect((await service.servers.status(caller, "frail")).state).toBe("stopped");
      // A version that does not need what broke it brings it back.
      expect((await deploy(service, ["strong", "http"], { name: "frail" })).state).toBe("ready");
      expect(await call("frail", "label")).toBe("strong");
    },
    60_000,
  );

  it.runIf(soak)(
    "keeps so many versions, their layers and their data, and tells what is different between two",
    async () => {
      for (let at = 1; at <= serverLimits.versions + 2; at++)
        await deploy(service, [`n${at}`, "http"], { name: "many" });
      const versions = await service.servers.versions(caller, "many");
      expect(versions.map(({ number }) => number)).toEqual([7, 6, 5, 4, 3]);
      const changed = await service.servers.diff(caller, "many", 6, 7);
      expect(changed).toContainEqual({
        field: "command",
        from: "python3 server.py n6 http",
        to: "python3 server.py n7 http",
      });
      expect(changed).toContainEqual({ field: "pip mcp", from: "n6", to: "n7" });
      const held = { principal: { ...caller.principal }, requestId: "", serverId: versions[0]?.serverId ?? "" };
      const snapshots = await service.storage.snapshots.list(held, { limit: 99 });
      const kept = versions.flatMap(({ dataSnapshotId }) => dataSnapshotId ?? []);
      expect(snapshots.map(({ id }) => id).sort()).toEqual(kept.sort());
      await service.servers.delete(caller, "many");
      expect(await service.storage.snapshots.list(held, { limit: 99 })).toEqual([]);
    },
    60_000,
  );

  it("that is deleted tells those under way that the outcome is unknown, and takes no other call", async () => {
    await deploy(service, ["gone", "http"], { name: "gone" });
    const { id } = await service.servers.get(caller, "gone");
    const link = await service.serverPool.connect(caller, id, whoIs("p"), signal);
    const underWay = callOver(link, "sleep", { seconds: 60 }).catch(() => "ended");
    await service.servers.delete(caller, "gone");
    expect(link.ended.reason.message).toMatch(/was deleted; the outcome of calls under way is unknown/);
    expect(await underWay).toBe("ended");
    await expect(service.serverPool.connect(caller, id, whoIs("p"), signal)).rejects.toMatchObject({
      code: "not_found",
    });
    expect(service.fleet.ofServers().some(({ serverId }) => serverId === id)).toBe(false);
    const again = await deploy(service, ["again", "http"], { name: "gone" });
    expect(again.serverId).not.toBe(id);
    expect(await call("gone", "list")).toBe("output");
  });
});
