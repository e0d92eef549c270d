import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { HostedServers } from "../../packages/server/src/core/server.ts";
import { anybody, callerOf, callTool, deploy, openServers, readAll, type TestServers } from "./fixture.ts";

const owner = callerOf("default");
const stranger = callerOf("elsewhere", "admin");
const { signal } = new AbortController();

describe("[S125] a hosted server", () => {
  let service: TestServers;
  let id: string;
  beforeAll(async () => {
    service = await openServers();
    await deploy(service, ["ours", "http", "--say"]);
    id = (await service.servers.get(owner, "made")).id;
    await callTool(service, "count");
  }, 120_000);
  afterAll(() => service[Symbol.asyncDispose]());

  it("does not exist in another namespace, by its id or its name, for anything that can be asked of one", async () => {
    const { servers } = service;
    const calls: Record<Exclude<keyof HostedServers, "deploy" | "list">, (server: string) => Promise<unknown>> = {
      get: (server) => servers.get(stranger, server),
      status: (server) => servers.status(stranger, server),
      change: (server) => servers.change(stranger, server, {}),
      logs: (server) => readAll(servers.logs(stranger, server, { follow: false, gone: signal })),
      buildLog: (server) => Array.fromAsync(servers.buildLog(stranger, server, 1, signal)),
      restart: (server) => servers.restart(stranger, server),
      stop: (server) => servers.stop(stranger, server),
      delete: (server) => servers.delete(stranger, server),
      versions: (server) => servers.versions(stranger, server),
      version: (server) => servers.version(stranger, server, 1),
      diff: (server) => servers.diff(stranger, server, 1, 1),
      rollback: (server) => servers.rollback(stranger, server, 1, { data: false }),
      confirm: (server) => servers.confirm(stranger, server, 1),
    };
    for (const [name, call] of Object.entries(calls))
      for (const server of [id, "made"])
        await expect(call(server), `${name} of ${server}`).rejects.toMatchObject({ code: "not_found" });
    expect(await servers.list(stranger)).toEqual([]);
    expect(service.serverPool.find(stranger, id)).toBeUndefined();
    await expect(service.serverPool.connect(stranger, id, anybody, signal)).rejects.toMatchObject({
      code: "not_found",
    });
    expect((await servers.status(owner, id)).state).toBe("running");
  });

  it("may have the name of another namespace's, with its own code, data and log, and is built without it", async () => {
    const builds = service.builds.length;
    const theirs = await deploy(service, ["ours", "http", "--say"], { caller: stranger });
    expect(service.builds.length).toBe(builds + 1);
    expect(theirs.state).toBe("ready");
    expect(await callTool(service, "count", {}, { caller: stranger })).toBe("1");
    expect(await callTool(service, "count")).toBe("2");
    const again = await deploy(service, ["ours", "http", "--say"]);
    expect(service.builds.length).toBe(builds + 1);
    const first = await service.servers.version(owner, id, 1);
    expect([again.layerId, again.inputsDigest]).toEqual([first.layerId, first.inputsDigest]);
    await deploy(service, ["ours", "http", "--say"], { rebuild: true });
    expect(service.builds.length).toBe(builds + 2);
    expect(await callTool(service, "list", {}, { caller: stranger })).toBe("count output");
  });
});
