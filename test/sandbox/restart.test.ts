import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCaisson } from "../../packages/server/src/app.ts";
import { SandboxCgroup } from "../../packages/server/src/engines/oci/cgroup.ts";
import { findMountedHierarchies } from "../../packages/server/src/engines/oci/cgroup-mounts.ts";
import { cgroupName } from "../../packages/server/src/engines/oci/sandbox-folder.ts";
import { engines, openTestCaisson, ordinary, root, type TestCaisson } from "../harness.ts";
import { killProcessesOf } from "../leaks.ts";

const limits = { memoryBytes: 64 * 1024 ** 2, storageBytes: 16 * 1024 ** 2 };

describe.each(engines)("a sandbox that is stopped (%s)", (engine) => {
  let test: TestCaisson;
  beforeAll(async () => {
    test = await openTestCaisson();
  });
  afterAll(async () => {
    await test[Symbol.asyncDispose]();
  });

  it("[LIF-05] ends what runs in it with a reason, and starts again with its files and the logs of its processes", async () => {
    const sandbox = await test.caisson.createSandbox({ engine, limits, keep: true });
    const { id } = sandbox;
    await sandbox.files.write("word", "kept");
    const process = await sandbox.processes.start({ command: "echo said; sleep 1000" });
    for await (const _ of process.output()) break;
    const waiting = process.wait();
    const run = await sandbox.start({ command: "sleep 1000" });
    const context = await sandbox.contexts.create({ language: "python" });
    await sandbox.stop();
    await sandbox.stop();
    await expect(run.result).rejects.toMatchObject({ code: "unavailable", message: /it was stopped/ });
    await expect(waiting).rejects.toMatchObject({ code: "unavailable", message: /the sandbox was stopped/ });
    await expect(sandbox.exec({ command: "true" })).rejects.toMatchObject({ code: "unavailable", message: /stopped/ });
    await expect(context.run("1")).rejects.toMatchObject({ code: "unavailable" });
    expect(await test.caisson.keptSandboxes()).toMatchObject([{ id, state: "stopped" }]);
    await expect(test.caisson.attachSandbox(id)).rejects.toMatchObject({ code: "conflict" });

    await using again = await test.caisson.startSandbox(id, { limits: { processes: 7 } });
    expect(again.limits).toMatchObject({ ...limits, processes: 7 });
    expect((await again.exec({ command: "cat word; ls /tmp" })).stdout).toBe("kept");
    const ended = again.processes.get(process.id);
    expect(ended.info().state).toBe("lost");
    expect((await ended.read()).data.toString()).toBe("said\n");
    await expect(ended.wait()).rejects.toThrow(/the sandbox was stopped/);
    await again.destroy();
    expect(await test.caisson.keptSandboxes()).toEqual([]);
  });

  it("[SBX-07] starts again with its workspace after its boundary was lost", async () => {
    const sandbox = await test.caisson.createSandbox({ engine, limits, keep: true });
    await sandbox.files.write("word", "kept");
    const process = await sandbox.processes.start({ command: "sleep 1000" });
    killProcessesOf(sandbox.id);
    await sandbox.lost;
    await expect(process.wait()).rejects.toMatchObject({ code: "unavailable" });
    await expect(sandbox.pause()).rejects.toMatchObject({ code: "unavailable", details: { sandbox_lost: true } });
    await sandbox.detach();
    expect(await test.caisson.keptSandboxes()).toMatchObject([{ id: sandbox.id, state: "ended" }]);
    await using again = await test.caisson.startSandbox(sandbox.id);
    expect((await again.exec({ command: "cat word" })).stdout).toBe("kept");
    expect(again.processes.get(process.id).info().state).toBe("lost");
    await again.destroy();
  });

  // In a container the cgroup ends the process, not the sandbox.
  it.runIf(engine === "gvisor" && !ordinary)(
    "[SBX-07] starts again with its workspace after its memory cgroup has fired",
    async () => {
      const bomb = "a=[]\nwhile True: a.append(bytearray(1<<20))";
      const wide = { ...limits, memoryBytes: 1024 ** 3 };
      const sandbox = await test.caisson.createSandbox({ engine, limits: wide, keep: true });
      await sandbox.files.write("word", "kept");
      const cgroup = new SandboxCgroup(
        await findMountedHierarchies(),
        cgroupName(join(test.home, "engine"), sandbox.id),
      );
      cgroup.limit("container", { ...sandbox.limits, memoryBytes: 192 * 1024 ** 2 }, ["memory"]);
      await expect(sandbox.executeCode({ language: "python", code: bomb })).rejects.toMatchObject({
        details: { sandbox_lost: true, oom_killed: true },
      });
      await sandbox.detach();
      await using again = await test.caisson.startSandbox(sandbox.id);
      expect((await again.exec({ command: "cat word" })).stdout).toBe("kept");
      expect(await again.executeCode({ language: "python", code: "a=bytearray(200<<20)" })).toMatchObject({
        exit_code: 0,
      });
      await again.destroy();
    },
  );

  it("[FIL-07] has its workspace in another process's hands, and an empty one once it is reset", async () => {
    let id: string;
    {
      await using first = openCaisson({ home: test.home, root });
      const sandbox = await first.createSandbox({ engine, limits, keep: true });
      id = sandbox.id;
      await sandbox.files.write("word", "kept");
      await (await sandbox.processes.start({ command: "echo secret" })).wait();
      await sandbox.stop();
    }
    const started = await test.caisson.startSandbox(id);
    expect((await started.exec({ command: "cat word" })).stdout).toBe("kept");
    expect(started.processes.list()).toHaveLength(1);
    await started.reset();
    await using again = await test.caisson.startSandbox(id);
    expect(await again.files.list("/workspace")).toMatchObject([{ name: "output", type: "directory" }]);
    expect(again.processes.list()).toEqual([]);
    await again.detach();
    await test.caisson.stopSandbox(id);
    await test.caisson.resetSandbox(id);
    await test.caisson.destroySandbox(id);
    expect(await test.caisson.keptSandboxes()).toEqual([]);
  });

  it("tells of its stop and its start, and of no loss", async () => {
    const told: string[] = [];
    const end = test.caisson.events.subscribe(({ type }) => told.push(type));
    const sandbox = await test.caisson.createSandbox({ engine, limits, keep: true });
    await sandbox.stop();
    await (await test.caisson.startSandbox(sandbox.id)).destroy();
    end();
    const kinds = ["created", "stopped", "started", "destroyed"].map((word) => `sandbox.${word}`);
    expect(told).toEqual(kinds);
  });

  it("is not stopped where it is ephemeral", async () => {
    await using sandbox = await test.caisson.createSandbox({ engine, limits });
    expect(() => sandbox.stop()).toThrow(/ephemeral/);
    expect((await sandbox.exec({ command: "echo on" })).stdout).toBe("on\n");
  });
});
