import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SandboxCgroup } from "../../packages/server/src/engines/oci/cgroup.ts";
import { findMountedHierarchies } from "../../packages/server/src/engines/oci/cgroup-mounts.ts";
import { cgroupName } from "../../packages/server/src/engines/oci/sandbox-folder.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

const MiB = 1024 ** 2;
const storageBytes = 64 * MiB;
const hog = (bytes: number) => `a = bytearray(b"x") * ${bytes}; print(len(a))`;
/** Under gVisor the guest looks every few milliseconds: it is still there then. */
const tooMuch = `${hog(150 * MiB)}; import time; time.sleep(1000)`;
const forks =
  "import os,time\nn=0\nwhile True:\n  try:\n    if os.fork()==0: time.sleep(100)\n    n+=1\n  except OSError: break\nprint(n)";

describe.each(engines)("a sandbox that is handed to somebody (%s)", (engine) => {
  let test: TestCaisson;
  beforeAll(async () => {
    test = await openTestCaisson();
  });
  afterAll(async () => {
    await test[Symbol.asyncDispose]();
  });

  /** As a pool has them. */
  const create = (limits = {}) =>
    test.caisson.createSandbox({ engine, limits: { memoryBytes: 512 * MiB, storageBytes, ...limits }, warm: "start" });

  /** What the kernel says in the file of a cgroup, of version 1 or 2. */
  async function kernelSays(sandbox: Sandbox, controller: string, files: Record<1 | 2, string>): Promise<string> {
    const found = (await findMountedHierarchies()).find(({ controllers }) => controllers.has(controller));
    if (found === undefined) throw new Error(`no ${controller} cgroup`);
    const folder = join(found.root, "caisson", cgroupName(join(test.home, "engine"), sandbox.id));
    return (await readFile(join(folder, files[found.version]), "utf8")).trim();
  }

  it("[LIF-02] has the memory limit that it is given then, less or more, and interpreters that wait take nothing of it", async () => {
    await using sandbox = await create();
    expect(await sandbox.executeCode({ language: "python", code: hog(150 * MiB) })).toMatchObject({ exit_code: 0 });
    await sandbox.updateLimits({ memoryBytes: 64 * MiB });
    expect(sandbox.limits).toMatchObject({ memoryBytes: 64 * MiB, storageBytes });
    expect(sandbox.notEnforced).toEqual([]);
    for (let run = 0; run < 3; run++)
      expect(await sandbox.exec({ command: "echo small" })).toMatchObject({ stdout: "small\n", oom_killed: false });
    expect(await sandbox.executeCode({ language: "python", code: tooMuch })).toMatchObject({ oom_killed: true });
    await sandbox.updateLimits({ memoryBytes: 8192 * MiB });
    expect(await sandbox.executeCode({ language: "python", code: hog(600 * MiB) })).toMatchObject({
      exit_code: 0,
      stdout: `${600 * MiB}\n`,
    });
  });

  it("[LIF-02] has the process limit that it is given then", async () => {
    await using sandbox = await create();
    for (const processes of [8, 40, 20]) {
      await sandbox.updateLimits({ processes });
      const { stdout } = await sandbox.executeCode({ language: "python", code: forks });
      expect(Number(stdout)).toBeLessThan(processes);
      expect(Number(stdout)).toBeGreaterThan(processes - 4);
    }
    await sandbox.updateLimits({ processes: 512 });
    await sandbox.updateLimits({ processes: 1 });
    expect(sandbox.limits.processes).toBe(1);
  });

  it("[LIF-02] has the share of processors that it is given then", async () => {
    await using sandbox = await create({ cpus: 1 });
    const quota = () => kernelSays(sandbox, "cpu", { 1: "cpu.cfs_quota_us", 2: "cpu.max" });
    const weight = () => kernelSays(sandbox, "cpu", { 1: "cpu.shares", 2: "cpu.weight" });
    expect(await quota()).toMatch(/^100000\b/);
    const before = await weight();
    await sandbox.updateLimits({ cpus: 0.5, cpuShares: 4096 });
    expect(await quota()).toMatch(/^50000\b/);
    expect(await weight()).not.toBe(before);
    await sandbox.updateLimits({ cpus: 2 });
    expect(await quota()).toMatch(/^200000\b/);
  });

  it("keeps its limits when one of them is refused, and says why", async () => {
    await using sandbox = await create();
    const before = sandbox.limits;
    await expect(sandbox.updateLimits({ storageBytes: 128 * MiB })).rejects.toMatchObject({
      code: "invalid",
      message: /storage/,
    });
    await expect(sandbox.updateLimits({ memoryBytes: 1 })).rejects.toMatchObject({ code: "invalid" });
    await expect(sandbox.updateLimits({ processes: 513 })).rejects.toMatchObject({ code: "invalid" });
    expect(sandbox.limits).toEqual(before);
  });

  it("does not lose what it uses to a smaller memory limit without a word", async () => {
    await using sandbox = await create();
    const process = await sandbox.processes.start({
      command: ["python3", "-c", `${hog(200 * MiB)}; import sys, time; sys.stdout.flush(); time.sleep(1000)`],
    });
    for await (const _ of process.output()) break;
    if (engine === "container") {
      const limit = () => kernelSays(sandbox, "memory", { 1: "memory.limit_in_bytes", 2: "memory.max" });
      const before = await limit();
      await expect(sandbox.updateLimits({ memoryBytes: 64 * MiB, processes: 9 })).rejects.toMatchObject({
        code: "conflict",
        message: /memory limit/,
      });
      expect(await limit()).toBe(before);
      expect(sandbox.limits).toMatchObject({ memoryBytes: 512 * MiB, processes: 64 });
      expect(process.info().state).toBe("running");
    } else {
      // The boundary's own limit has room for it; the guest ends what is past the new one, and says so.
      await sandbox.updateLimits({ memoryBytes: 64 * MiB });
      expect(await process.wait()).toMatchObject({ oom_killed: true });
    }
  });

  it("has its limits while paused, and the next owner has them too", async () => {
    const limits = { memoryBytes: 512 * MiB, storageBytes };
    const sandbox = await test.caisson.createSandbox({ engine, limits, keep: true });
    await sandbox.pause();
    await sandbox.updateLimits({ memoryBytes: 64 * MiB, processes: 9 });
    await sandbox.resume();
    expect(await sandbox.executeCode({ language: "python", code: tooMuch })).toMatchObject({ oom_killed: true });
    await sandbox.detach();
    const attached = await test.caisson.attachSandbox(sandbox.id);
    expect(attached.limits).toMatchObject({ memoryBytes: 64 * MiB, processes: 9 });
    expect(await attached.executeCode({ language: "python", code: tooMuch })).toMatchObject({ oom_killed: true });
    await attached.destroy();
  });

  it("[LIF-02] has the environment that it is given then, in every run and in interpreters that waited", async () => {
    await using sandbox = await create();
    sandbox.setEnvironment({ GIVEN: "one", OTHER: "two" });
    const env = `import os; print(os.environ.get("GIVEN"), os.environ.get("OTHER"), os.environ["HOME"])`;
    const python = await sandbox.executeCode({ language: "python", code: env });
    expect(python.stdout).toBe("one two /home/user\n");
    const node = `console.log(process.env.GIVEN, process.env.OTHER, process.env.HOME)`;
    expect((await sandbox.executeCode({ language: "node", code: node })).stdout).toBe("one two /home/user\n");
    expect((await sandbox.exec({ command: "echo $GIVEN $OTHER", env: { OTHER: "own" } })).stdout).toBe("one own\n");
    const process = await sandbox.processes.start({ command: "echo $GIVEN" });
    await process.wait();
    expect((await process.read()).data.toString()).toBe("one\n");
    sandbox.setEnvironment({ GIVEN: "three" });
    const again = await sandbox.executeCode({ language: "python", code: env });
    expect(again).toMatchObject({ stdout: "three None /home/user\n", warm: true });
    expect(() => sandbox.setEnvironment({ "NOT=A NAME": "" })).toThrow(/environment/);
  });

  it("[LIF-02] answers while it is well, and says so when it is not", async () => {
    await using sandbox = await create();
    await Promise.all([sandbox.ping(), sandbox.ping(), sandbox.exec({ command: "true" }), sandbox.ping()]);
    const name = cgroupName(join(test.home, "engine"), sandbox.id);
    const cgroup = new SandboxCgroup(await findMountedHierarchies(), name);
    await cgroup.freeze();
    await expect(sandbox.ping(100)).rejects.toMatchObject({ code: "timeout" });
    await cgroup.thaw();
    await sandbox.ping();
    await sandbox.destroy();
    await expect(sandbox.ping()).rejects.toMatchObject({ code: "unavailable" });
  });
});
