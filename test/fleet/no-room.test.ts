import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { engineLimits } from "../../packages/server/src/engines/limits.ts";
import { engines, ordinary } from "../harness.ts";
import { callerOf, makeHome, small, type TestFleet, until } from "./fixture.ts";
import { mountDisk } from "./small-disk.ts";

const MiB = 1024 ** 2;
const alice = callerOf("alice");
const ample = engineLimits.diskReserveBytes + 512 * MiB;
/** Less is free than workspaces may never claim, and more than what freezes writers. */
const scarce = engineLimits.diskReserveBytes - 128 * MiB;
const noDisk = { code: "limit_exceeded", message: expect.stringContaining("not enough disk space for") };

const inside = ({ fleet }: TestFleet, id: string) => ({
  exec: async (command: string) => (await fleet.use(alice, id, (sandbox) => sandbox.exec({ command }))).stdout,
  isRunning: async () => (await fleet.get(alice, id)).status === "running",
});

describe.skipIf(ordinary).each(engines)("a sandbox of a machine without a disk to spare (%s)", (engine) => {
  it("[S93] keeps its files and what runs when its reset is refused", async () => {
    await using own = await makeHome();
    using disk = mountDisk(own.home, ample);
    await using test = await own.open({ engine });
    const { id } = (await test.fleet.create(alice, {})).record;
    const { exec, isRunning } = inside(test, id);
    const command = "echo mine > kept; echo $$ > pid; exec sleep 600";
    await test.fleet.use(alice, id, (sandbox) => sandbox.processes.start({ command }));
    await until(async () => (await exec("cat pid")).endsWith("\n"));
    disk.resize(scarce);
    await expect(test.fleet.reset(alice, id)).rejects.toMatchObject(noDisk);
    expect(await isRunning()).toBe(true);
    expect(await exec("cat kept; kill -0 $(cat pid) && echo alive")).toBe("mine\nalive\n");
    disk.resize(ample);
    await test.fleet.stop(alice, id);
    disk.resize(scarce);
    await expect(test.fleet.reset(alice, id)).rejects.toMatchObject(noDisk);
    expect(await exec("cat kept")).toBe("mine\n");
    disk.resize(ample);
    expect((await test.fleet.reset(alice, id)).status).toBe("running");
    expect(await exec("ls kept 2>&1 || echo gone")).toContain("gone");
    await test.fleet.destroy(alice, id);
  });

  it("[S93] is reset where there is just the room that it has already", async () => {
    await using own = await makeHome();
    const size = engineLimits.diskReserveBytes + 128 * MiB;
    using _disk = mountDisk(own.home, size);
    await using test = await own.open({ engine, limits: { ...small, storageBytes: 96 * MiB } });
    const { id } = (await test.fleet.create(alice, {})).record;
    await inside(test, id).exec("head -c 60000000 /dev/urandom > big");
    await test.fleet.reset(alice, id);
    expect(await inside(test, id).exec("ls big 2>&1 || echo gone")).toContain("gone");
    await test.fleet.destroy(alice, id);
  });

  it("[S93] keeps its files when a snapshot cannot be restored", async () => {
    await using own = await makeHome();
    using disk = mountDisk(own.home, ample);
    await using test = await own.open({ engine });
    const { fleet, storage } = test;
    const { id } = (await fleet.create(alice, {})).record;
    const { exec } = inside(test, id);
    const snapshot = await fleet.use(alice, id, (sandbox) => storage.snapshots.create(alice, sandbox));
    await exec("echo mine > kept");
    const restore = () => fleet.use(alice, id, (sandbox) => storage.snapshots.restore(alice, sandbox, snapshot.id));
    disk.resize(scarce);
    await expect(restore()).rejects.toMatchObject(noDisk);
    expect(await exec("cat kept")).toBe("mine\n");
    disk.resize(ample);
    await restore();
    expect(await exec("ls kept 2>&1 || echo gone")).toContain("gone");
    await fleet.destroy(alice, id);
  });
});

describe.each(engines)("a sandbox whose files are to be replaced (%s)", (engine) => {
  it("[S93] keeps them when a snapshot does not fit into its workspace", async () => {
    await using own = await makeHome();
    await using test = await own.open({ engine });
    const { fleet, storage } = test;
    const large = (await fleet.create(alice, { limits: { storageBytes: 44 * MiB } })).record.id;
    const little = (await fleet.create(alice, {})).record.id;
    await inside(test, large).exec("head -c 24000000 /dev/urandom > big");
    const snapshot = await fleet.use(alice, large, (sandbox) => storage.snapshots.create(alice, sandbox));
    const { exec } = inside(test, little);
    await exec("echo mine > kept; head -c 4000000 /dev/urandom > other");
    const restore = (id: string) =>
      fleet.use(alice, id, (sandbox) => storage.snapshots.restore(alice, sandbox, snapshot.id));
    await expect(restore(little)).rejects.toMatchObject({ code: "limit_exceeded", details: { errno: "ENOSPC" } });
    expect(await exec("cat kept; stat -c %s other")).toBe("mine\n4000000\n");
    // Where it fits only in place of what is there, it is restored.
    await inside(test, large).exec("rm big; head -c 24000000 /dev/urandom > another");
    await restore(large);
    expect(await inside(test, large).exec("stat -c '%n %s' *")).toContain("big 24000000");
    for (const id of [large, little]) await fleet.destroy(alice, id);
  });
});

describe("a sandbox whose change cannot be written down", () => {
  it("[S93] is neither reset nor changed, and keeps its files and limits", async () => {
    await using own = await makeHome();
    await using test = await own.open();
    const { fleet } = test;
    const { id } = (await fleet.create(alice, { env: { COLOUR: "blue" } })).record;
    const { exec } = inside(test, id);
    await exec("echo mine > kept");
    const before = await fleet.get(alice, id);
    const other = new DatabaseSync(join(own.home, "daemon/caisson.db"), { timeout: 5_000 });
    other.exec("BEGIN IMMEDIATE");
    const changes = { limits: { memoryBytes: 2 * small.memoryBytes }, env: { COLOUR: "red" }, lifetimeMs: 1_000_000 };
    await Promise.all([
      expect(fleet.change(alice, id, changes)).rejects.toMatchObject({ code: "unavailable" }),
      expect(fleet.reset(alice, id)).rejects.toMatchObject({ code: "unavailable" }),
    ]);
    other.exec("ROLLBACK");
    other.close();
    const { lastUsedAtMs: _, ...after } = await fleet.get(alice, id);
    expect(before).toMatchObject(after);
    expect(await fleet.use(alice, id, async ({ limits }) => limits.memoryBytes)).toBe(small.memoryBytes);
    expect(await exec("cat kept; echo $COLOUR")).toBe("mine\nblue\n");
    await fleet.destroy(alice, id);
  });
});
