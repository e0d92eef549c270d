import { readdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { engineLimits } from "../../packages/server/src/engines/limits.ts";
import { type Clock, systemClock } from "../../packages/server/src/lib/clock.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, ordinary, soak } from "../harness.ts";
import { killProcessesOf, processesOf, readIfThere } from "../leaks.ts";
import { callerOf, makeHome, small, type TestFleet, until } from "./fixture.ts";
import { mountDisk } from "./small-disk.ts";

const MiB = 1024 ** 2;
const alice = callerOf("alice");
const bob = callerOf("bob");

const isFull = ({ fleet }: TestFleet) => fleet.pools().some(({ ready, size }) => ready === size);

/** A signal stops a process some time after it was sent, thread by thread. */
function standsStill(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) =>
    /^State:\s*[tT]/m.test(readIfThere(`/proc/${pid}/task/${thread}/status`)),
  );
}

describe.each(engines)("a warm pool (%s)", (engine) => {
  it("[LIF-02] is filled before anybody asks, hands a sandbox over, and is filled again", async () => {
    await using own = await makeHome();
    await using test = await own.open({ engine, poolSize: 2 });
    const { fleet } = test;
    await until(() => isFull(test));
    const waiting = (await test.caisson.keptSandboxes()).map(({ id }) => id);
    expect(waiting.length).toBe(2);
    expect(waiting.map((id) => fleet.namespaceOf(id))).toEqual([undefined, undefined]);
    expect(await fleet.list(alice, { limit: 10 })).toEqual([]);
    await expect(fleet.use(alice, waiting[0] ?? "", async () => 1)).rejects.toMatchObject({ code: "not_found" });
    const { record } = await fleet.create(alice, {});
    expect(record).toMatchObject({ origin: "pool", status: "running", namespace: "alice" });
    expect(waiting).toContain(record.id);
    expect((await fleet.use(alice, record.id, (sandbox) => sandbox.exec({ command: "pwd; ls" }))).stdout).toBe(
      "/workspace\noutput\n",
    );
    await until(() => isFull(test));
    expect(fleet.pools()).toMatchObject([
      { image: "host", engine, size: 2, ready: 2, starting: 0, hits: 1, misses: 0 },
    ]);
    expect(fleet.pools()[0]?.oldestAgeMs).toBeGreaterThan(0);
    await fleet.destroy(alice, record.id);
    const next = await fleet.create(bob, {});
    expect(next.record.id).not.toBe(record.id);
    await fleet.destroy(bob, next.record.id);
  });

  it("[LIF-02] gives one that has begun to start to whoever comes meanwhile", async () => {
    await using own = await makeHome();
    await using test = await own.open({ engine, poolSize: 1 });
    const isBegun = async () => (await readdir(join(own.home, "engine/sandboxes")).catch(() => [])).length > 0;
    await until(isBegun);
    const { record } = await test.fleet.create(alice, {});
    expect(record.origin).toBe("pool");
    expect(test.fleet.pools()).toMatchObject([{ hits: 1, misses: 0 }]);
    await test.fleet.destroy(alice, record.id);
  });

  it("[LIF-02] serves no request for other storage: that one starts cold and says so", async () => {
    await using own = await makeHome();
    await using test = await own.open({ engine, poolSize: 1 });
    await until(() => isFull(test));
    const { record } = await test.fleet.create(alice, { limits: { storageBytes: 2 * small.storageBytes } });
    expect(record.origin).toBe("cold: it asks for other storage than those in the pool have");
    expect(record.limits.storageBytes).toBe(2 * small.storageBytes);
    expect(test.fleet.pools()).toMatchObject([{ ready: 1, hits: 0 }]);
    await test.fleet.destroy(alice, record.id);
  });

  it.skipIf(ordinary)(
    "[LIF-02] gives way where the disk has no room for both it and what somebody asks for",
    async () => {
      await using own = await makeHome();
      using _disk = mountDisk(own.home, engineLimits.diskReserveBytes + 1024 * MiB);
      await using test = await own.open({ engine, poolSize: 2, limits: { ...small, storageBytes: 256 * MiB } });
      await until(() => isFull(test));
      const { record } = await test.fleet.create(alice, { limits: { storageBytes: 640 * MiB } });
      expect(record.origin).toBe("cold: it asks for other storage than those in the pool have");
      expect(test.fleet.pools()).toMatchObject([{ ready: 1 }]);
      const more = test.fleet.create(alice, { limits: { storageBytes: 1024 * MiB } });
      await expect(more).rejects.toMatchObject({
        code: "limit_exceeded",
        message: expect.stringContaining("not enough disk space"),
      });
      await test.fleet.destroy(alice, record.id);
    },
  );

  it("[LIF-02] hands over with the limits and the environment that were asked for", async () => {
    await using own = await makeHome();
    await using test = await own.open({ engine, poolSize: 1 });
    await until(() => isFull(test));
    const limits = { memoryBytes: 128 * 1024 ** 2, cpus: 0.5, processes: 8 };
    const { record } = await test.fleet.create(alice, { limits, env: { COLOUR: "blue" } });
    expect(record).toMatchObject({ origin: "pool", limits: { ...limits, storageBytes: small.storageBytes } });
    const { id } = record;
    const exec = async (command: string) =>
      (await test.fleet.use(alice, id, (sandbox) => sandbox.exec({ command, limits: { timeoutMs: 20_000 } }))).stdout;
    expect(await exec("echo $COLOUR")).toBe("blue\n");
    // 100 MB fit into what it has now, and not into what the pool's have.
    const fill = `python3 -c 'print(len(bytearray(${100 * 1024 ** 2})))'`;
    expect(await exec(`${fill} || echo no`)).toBe(`${100 * 1024 ** 2}\n`);
    const other = (await test.fleet.create(alice, {})).record.id;
    expect((await test.fleet.use(alice, other, (sandbox) => sandbox.exec({ command: "echo $COLOUR" }))).stdout).toBe(
      "\n",
    );
    await test.fleet.stop(alice, id);
    expect(await exec("echo $COLOUR")).toBe("blue\n");
    const more = await test.fleet.change(alice, id, { limits: { processes: 16 } });
    expect(more.limits).toMatchObject({ ...limits, processes: 16 });
    await test.fleet.use(alice, id, async (sandbox) => expect(sandbox.limits).toEqual(more.limits));
    for (const one of [id, other]) await test.fleet.destroy(alice, one);
  });

  it("[LIF-02] throws away one that does not answer, and hands over the next", async () => {
    await using own = await makeHome();
    let laterMs = 0;
    const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs };
    await using test = await own.open({ engine, poolSize: 2 }, clock);
    await until(() => isFull(test));
    const [oldest = "", next] = (await test.caisson.keptSandboxes()).map(({ id }) => id);
    for (const pid of processesOf(oldest)) process.kill(pid, "SIGSTOP");
    await until(() => processesOf(oldest).every(standsStill));
    laterMs = 60_000; // what it said before that is old
    const { record } = await test.fleet.create(alice, {});
    expect(record).toMatchObject({ id: next, origin: "pool" });
    expect((await test.fleet.list(alice, { limit: 10 })).map(({ id }) => id)).toEqual([next]);
    const logged = await test.store.audit.search({ sandboxId: oldest, type: "sandbox.destroyed" });
    expect(logged).toMatchObject([{ actor: "system", detail: { reason: "it did not answer" } }]);
    await until(async () => (await test.caisson.keptSandboxes()).every(({ id }) => id !== oldest));
    await test.fleet.destroy(alice, record.id);
    expect(test.errors).toEqual([]);
  });

  it("[LIF-02] does not ask one again that has just said that it is well", async () => {
    await using own = await makeHome();
    const clock: Clock = { ...systemClock, monotonicMs: () => 0 }; // every answer is of now
    await using test = await own.open({ engine, poolSize: 1 }, clock);
    await until(() => isFull(test));
    const [oldest = ""] = (await test.caisson.keptSandboxes()).map(({ id }) => id);
    const stopped = processesOf(oldest);
    for (const pid of stopped) process.kill(pid, "SIGSTOP");
    await until(() => stopped.every(standsStill));
    const { record } = await test.fleet.create(alice, {});
    expect(record).toMatchObject({ id: oldest, origin: "pool" });
    for (const pid of stopped) process.kill(pid, "SIGCONT");
    await test.fleet.destroy(alice, record.id);
  });

  it("[LIF-02] knows the files of one that waits: its first run tells what it changed, and nothing else", async () => {
    await using own = await makeHome();
    await using test = await own.open({ engine, poolSize: 2 });
    await until(() => isFull(test));
    const first = async (prepare: (sandbox: Sandbox) => Promise<unknown>) => {
      const { record } = await test.fleet.create(alice, {});
      expect(record.origin).toBe("pool");
      const { files_changed } = await test.fleet.use(alice, record.id, async (sandbox) => {
        await prepare(sandbox);
        return sandbox.exec({ command: "echo 1 > made" });
      });
      await test.fleet.destroy(alice, record.id);
      return files_changed.map(({ path, action }) => `${action} ${path}`);
    };
    expect(await first(async () => undefined)).toEqual(["created made"]);
    expect(await first((sandbox) => sandbox.files.write("before", Buffer.from("1")))).toEqual(["created made"]);
  });

  it("[LIF-02] replaces one that ended while it waited", async () => {
    await using own = await makeHome();
    await using test = await own.open({ engine, poolSize: 1 });
    await until(() => isFull(test));
    const [dead] = (await test.caisson.keptSandboxes()).map(({ id }) => id);
    killProcessesOf(dead ?? "");
    await until(async () => {
      const kept = (await test.caisson.keptSandboxes()).map(({ id }) => id);
      return isFull(test) && !kept.includes(dead ?? "");
    });
    const { record } = await test.fleet.create(alice, {});
    expect(record.origin).toBe("pool");
    await test.fleet.destroy(alice, record.id);
  });
});

describe("a warm pool", () => {
  it("[LIF-02] is there for the default engine from the start, and for another one once it was asked for", async () => {
    await using own = await makeHome();
    await using test = await own.open({ poolSize: 1, engine: "container" });
    await until(() => isFull(test));
    const first = await test.fleet.create(alice, { engine: "gvisor" });
    expect(first.record).toMatchObject({ engine: "gvisor", origin: "cold: there is no pool" });
    await until(() => test.fleet.pools().every(({ ready }) => ready === 1));
    expect(test.fleet.pools().map(({ engine }) => engine)).toEqual(["container", "gvisor"]);
    const second = await test.fleet.create(alice, { engine: "gvisor" });
    expect(second.record).toMatchObject({ engine: "gvisor", origin: "pool" });
    for (const { record } of [first, second]) await test.fleet.destroy(alice, record.id);
  });

  it("[LIF-02] gives no sandbox to two that ask at once, and whoever finds it empty starts cold", async () => {
    await using own = await makeHome();
    await using test = await own.open({ poolSize: 5 });
    await until(() => isFull(test));
    const asked = Array.from({ length: soak ? 50 : 12 }, (_, at) => test.fleet.create(at % 2 === 0 ? alice : bob, {}));
    const records = (await Promise.all(asked)).map(({ record }) => record);
    expect(new Set(records.map(({ id }) => id)).size).toBe(records.length);
    const warm = records.filter(({ origin }) => origin === "pool");
    expect(warm.length).toBeGreaterThanOrEqual(5);
    expect(test.fleet.pools()).toMatchObject([{ hits: warm.length, misses: records.length - warm.length }]);
    for (const { id, namespace } of records) await test.fleet.destroy(callerOf(namespace), id);
  });
});
