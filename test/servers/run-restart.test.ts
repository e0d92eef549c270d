import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openServerSandboxes } from "../../packages/server/src/compose/server-sandboxes.ts";
import { findLeaks } from "../leaks.ts";
import {
  anybody,
  callerOf,
  callOver,
  callTool,
  deploy,
  enginesOfServers,
  makeServersHome,
  readAll,
  removeAll,
  type ServersHome,
  uploadOf,
} from "./fixture.ts";

const caller = callerOf();
const { signal } = new AbortController();
const stays = /^(folder|uid range)/;

describe.each(enginesOfServers)("hosted servers after a restart of the daemon on %s", (engine) => {
  let home: ServersHome;
  beforeAll(async () => {
    home = await makeServersHome(engine);
  });
  afterAll(() => home[Symbol.asyncDispose]());

  it("come back at the next call, with their data; what ran is gone by then, however the daemon ended", async () => {
    const first = await home.open();
    await deploy(first, ["one", "http", "--say"]);
    await deploy(first, ["lines", "stdio"], { name: "lines" });
    await callTool(first, "count");
    await callTool(first, "count", {}, { name: "lines" });
    await first[Symbol.asyncDispose]();
    expect(findLeaks(home.home).filter((leak) => !stays.test(leak))).toEqual([]);

    const second = await home.open();
    expect(await callTool(second, "count")).toBe("2");
    expect(await callTool(second, "count", {}, { name: "lines" })).toBe("2");
    const { id } = await second.servers.get(caller, "made");
    const link = await second.serverPool.connect(caller, id, anybody, signal);
    // As a daemon that is killed: nothing is stopped, its sandboxes are left to the next one.
    await second.fleet.drain(0);
    await second[Symbol.asyncDispose]();

    const third = await home.open();
    const [sandbox] = third.fleet.ofServers().filter(({ serverId }) => serverId === id);
    expect(sandbox?.status).toBe("stopped");
    await expect(third.fleet.get(caller, sandbox?.id ?? "")).rejects.toMatchObject({ code: "not_found" });
    await expect(callOver(link, "label")).rejects.toThrow();
    expect(await callTool(third, "count")).toBe("3");
    const log = await readAll(third.servers.logs(caller, "made", { follow: false, gone: signal }));
    expect(log.match(/a line of one/g)?.length).toBe(3);
    expect(log).toContain("[caisson] version 1 starts");
    await third.collection.run(callerOf("default", "admin"));
    expect((await third.layers.list()).map((layer) => layer.id)).toContain(third.serverBook.current(id)?.layerId);
    await removeAll(third);
    expect(third.errors).toEqual([]);
    await third[Symbol.asyncDispose]();
  }, 120_000);
});

describe("a version that was being made when the daemon ended", () => {
  it("has failed, takes no calls, and leaves no sandbox of its check", async () => {
    await using home = await makeServersHome("container");
    const first = await home.open();
    await deploy(first, ["one", "http"]);
    const { version } = await first.servers.deploy(
      caller,
      { name: "made", source: { kind: "archive" }, config: {} },
      uploadOf(["two", "mute"]),
    );
    const log = first.servers.buildLog(caller, "made", version.number, signal);
    for await (const message of log) if (message.type === "step" && message.step === "check") break;
    await first[Symbol.asyncDispose]();
    const second = await home.open();
    expect(await second.servers.version(caller, "made", 2)).toMatchObject({ state: "failed" });
    expect(second.fleet.ofServers().map(({ labels }) => labels["server.use"])).not.toContain("check");
    expect(await callTool(second, "label")).toBe("one");
    await removeAll(second);
    await second[Symbol.asyncDispose]();
  }, 60_000);

  it("[S123] leaves the data as they were before it, where it had begun to change them", async () => {
    await using home = await makeServersHome("container");
    const first = await home.open();
    await deploy(first, ["one", "http"]);
    expect(await callTool(first, "count")).toBe("1");
    const { fleet, policies, caisson, serverBook, storage } = first;
    const sandboxes = openServerSandboxes({ fleet, policies, caisson, snapshots: storage.snapshots });
    const [shared] = sandboxes.all();
    if (shared === undefined) throw new Error("the server has no sandbox");
    const savedSnapshotId = await sandboxes.save(shared.server, shared.id, "before version 2");
    await serverBook.change(shared.server.id, { savedSnapshotId });
    expect(await callTool(first, "count")).toBe("2"); // as the next version in its trial
    await first[Symbol.asyncDispose]();
    const second = await home.open();
    expect(second.serverBook.byId(shared.server.id)?.savedSnapshotId).toBe(null);
    expect(await callTool(second, "count")).toBe("2");
    await removeAll(second);
    expect(second.errors).toEqual([]);
    await second[Symbol.asyncDispose]();
  }, 60_000);
});
