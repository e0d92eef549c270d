import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxProcess } from "../../packages/server/src/core/process.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { wireLimits } from "../../packages/server/src/wire/limits.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";
import { Owner } from "./owner.ts";

const limits = { memoryBytes: 64 * 1024 ** 2, storageBytes: 16 * 1024 ** 2 };
/** Slow enough that its log holds all of it for minutes. */
const counting = "i=0; while :; do i=$((i+1)); echo $i; [ $((i % 500)) != 0 ] || sleep 0.05; done";

/** Reads past an offset: the process has gone on. */
async function goesOn(process: SandboxProcess): Promise<void> {
  for await (const _ of process.output({ offset: process.info().output.stdout.to + 1 })) return;
}

/** Whether the sandbox computes while nobody looks. What is frozen cannot, however long one waits. */
async function isStill(sandbox: Sandbox): Promise<boolean> {
  const { cpuMs } = await sandbox.stats();
  await sleep(300);
  return (await sandbox.stats()).cpuMs - cpuMs <= 1;
}

describe.each(engines)("a paused sandbox (%s)", (engine) => {
  let test: TestCaisson;
  beforeAll(async () => {
    test = await openTestCaisson();
  });
  afterAll(async () => {
    await test[Symbol.asyncDispose]();
  });

  it("[LIF-06] stands still, refuses work with a hint, and goes on where it was", async () => {
    await using sandbox = await test.caisson.createSandbox({ engine, limits });
    const process = await sandbox.processes.start({ command: counting });
    await goesOn(process);
    await sandbox.pause();
    await sandbox.pause();
    expect(sandbox.paused).toBe(true);
    expect(await isStill(sandbox)).toBe(true);
    await expect(sandbox.exec({ command: "true" })).rejects.toMatchObject({
      code: "conflict",
      hint: expect.stringContaining("resume"),
    });
    await expect(sandbox.files.list("/workspace")).rejects.toMatchObject({ code: "conflict" });
    await expect(sandbox.processes.start({ command: "true" })).rejects.toMatchObject({ code: "conflict" });
    expect(() => process.signal("SIGTERM")).toThrow(/paused/);
    expect((await process.read(0)).data.toString()).toMatch(/^1\n/);
    await sandbox.resume();
    await sandbox.resume();
    expect(sandbox.paused).toBe(false);
    await goesOn(process);
    expect((await sandbox.exec({ command: "echo again" })).stdout).toBe("again\n");
  });

  it("[LIF-06] goes on after many pauses in the midst of its work", async () => {
    await using sandbox = await test.caisson.createSandbox({ engine, limits });
    const process = await sandbox.processes.start({ command: "while :; do $(true); done" });
    for (let n = 0; n < 50; n++) {
      await sandbox.pause();
      await sandbox.resume();
    }
    expect(process.info().state).toBe("running");
    expect((await sandbox.exec({ command: "echo again" })).stdout).toBe("again\n");
  });

  it("[LIF-06] is destroyed as it is", async () => {
    const sandbox = await test.caisson.createSandbox({ engine, limits });
    await sandbox.processes.start({ command: counting });
    await sandbox.pause();
    await sandbox.destroy();
  });

  it("[LIF-06] stays paused when its owner is killed and when another comes, and goes on when that one says so", async () => {
    await using owner = new Owner(test.home);
    const id = await owner.ask<string>({ ask: "create", engine });
    const name = await owner.ask<string>({ ask: "start", id, command: counting });
    await owner.ask({ ask: "pause", id });
    await owner.kill();
    expect(await test.caisson.keptSandboxes()).toMatchObject([{ id, state: "paused" }]);
    const sandbox = await test.caisson.attachSandbox(id);
    expect(sandbox.paused).toBe(true);
    expect(await isStill(sandbox)).toBe(true);
    const process = sandbox.processes.get(name);
    expect(process.info().state).toBe("running");
    const waiting = process.wait();
    await sandbox.detach();
    await expect(waiting).rejects.toMatchObject({ code: "unavailable" });

    const again = await test.caisson.attachSandbox(id);
    expect(again.paused).toBe(true);
    await again.resume();
    await goesOn(again.processes.get(name));
    expect(await test.caisson.keptSandboxes()).toMatchObject([{ id, state: "running" }]);
    again.processes.get(name).kill();
    await again.processes.get(name).wait();
    const { data } = await again.processes.get(name).read(0);
    expect(data.toString()).toMatch(/^1\n2\n3\n/);
    await again.destroy();
  });

  it("[LIF-06] is what its record says, when an owner died with its hand on the freezer", async () => {
    const made = await test.caisson.createSandbox({ engine, limits, keep: true });
    const path = join(test.home, "engine/sandboxes", made.id, "record.json");
    const name = (await made.processes.start({ command: counting })).id;
    await made.detach();
    // Between the record and the freeze.
    const running = await readFile(path, "utf8");
    await writeFile(path, running.replace('"paused":false', '"paused":true'));
    const paused = await test.caisson.attachSandbox(made.id);
    expect(paused.paused).toBe(true);
    expect(await isStill(paused)).toBe(true);
    await paused.detach();
    // A frozen one whose record knows nothing of a pause.
    await writeFile(path, running);
    const resumed = await test.caisson.attachSandbox(made.id);
    expect(resumed.paused).toBe(false);
    await goesOn(resumed.processes.get(name));
    await resumed.destroy();
  });
});

describe("time in a pause", () => {
  it("[LIF-06] counts neither for the lease nor for the limits of what runs", async () => {
    await using test = await openTestCaisson();
    const timeoutMs = wireLimits.leaseMs - 1000;
    await Promise.all(
      engines.map(async (engine) => {
        await using sandbox = await test.caisson.createSandbox({ engine, limits });
        const command = "echo ready; read word; echo got $word";
        const process = await sandbox.processes.start({ command, stdin: true, limits: { timeoutMs } });
        for await (const _ of process.output()) break;
        await sandbox.pause();
        await sleep(wireLimits.leaseMs + 2000);
        await sandbox.resume();
        await process.write("word\n");
        expect([engine, await process.wait()]).toMatchObject([engine, { exit_code: 0, timed_out: false }]);
        expect((await process.read(6)).data.toString()).toBe("got word\n");
      }),
    );
  });
});
