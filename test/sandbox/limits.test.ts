import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SandboxCgroup } from "../../packages/server/src/engines/oci/cgroup.ts";
import { findHierarchies } from "../../packages/server/src/engines/oci/cgroup-mounts.ts";
import { cgroupName } from "../../packages/server/src/engines/oci/sandbox-folder.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

const MiB = 1024 ** 2;

describe.each(engines)("limits (%s)", (engine) => {
  let test: TestCaisson;
  beforeAll(async () => {
    test = await openTestCaisson();
  });
  afterAll(async () => {
    await test[Symbol.asyncDispose]();
  });
  const create = (limits = {}) => test.caisson.createSandbox({ engine, limits: { storageBytes: 64 * MiB, ...limits } });

  it("[SBX-07] memory past the limit ends the run, says so, and leaves the sandbox and its neighbour (hazard 7)", async () => {
    await using neighbour = await create();
    await using sandbox = await create({ memoryBytes: 128 * MiB });
    const bomb = "a=[]\nwhile True: a.append(bytearray(1<<20))";
    const result = await sandbox.executeCode({ language: "python", code: bomb });
    expect(result).toMatchObject({ oom_killed: true, exit_code: 137 });
    expect((await sandbox.exec({ command: "echo alive" })).stdout).toBe("alive\n");
    expect((await neighbour.exec({ command: "echo alive" })).stdout).toBe("alive\n");
  });

  // In a container the cgroup's limit is the only one, and it ends the process, not the sandbox.
  it.runIf(engine === "gvisor")(
    "[SBX-07] a cgroup that fires before the guest does loses the sandbox, and is told as that",
    async () => {
      await using neighbour = await create();
      await using sandbox = await create({ memoryBytes: 1024 * MiB });
      const hierarchies = await findHierarchies(await readFile("/proc/mounts", "utf8"));
      const cgroup = new SandboxCgroup(hierarchies, cgroupName(join(test.home, "engine"), sandbox.id));
      cgroup.limit("container", { ...sandbox.limits, memoryBytes: 192 * MiB }, ["memory"]);
      const bomb = "a=[]\nwhile True: a.append(bytearray(1<<20))";
      await expect(sandbox.executeCode({ language: "python", code: bomb })).rejects.toMatchObject({
        code: "limit_exceeded",
        details: { sandbox_lost: true, oom_killed: true },
      });
      expect((await neighbour.exec({ command: "echo alive" })).stdout).toBe("alive\n");
    },
  );

  it("[SBX-07] memory within the limit is given", async () => {
    await using sandbox = await create({ memoryBytes: 256 * MiB });
    const result = await sandbox.executeCode({ language: "python", code: "a=bytearray(150<<20); print(len(a))" });
    expect(result).toMatchObject({ oom_killed: false, exit_code: 0, stdout: `${150 * MiB}\n` });
  });

  it("[SBX-09] a fork bomb stops at the process limit, and ends with its run", async () => {
    await using sandbox = await create({ processes: 20 });
    const bomb =
      "import os,sys,time\nn=0\nwhile True:\n  try:\n    if os.fork()==0: time.sleep(100)\n    n+=1\n  except OSError: break\nprint(n)";
    const result = await sandbox.executeCode({ language: "python", code: bomb });
    expect(Number(result.stdout)).toBeGreaterThan(10);
    expect(Number(result.stdout)).toBeLessThan(20);
    expect(
      (await sandbox.exec({ command: "ls /proc | grep -c '^[0-9]'", limits: { processes: 20 } })).stdout.trim().length,
    ).toBe(1);
  });

  it("[SBX-09] as many processes as allowed do run", async () => {
    await using sandbox = await create({ processes: 30 });
    const result = await sandbox.exec({ command: "for i in $(seq 20); do sleep 0.2 & done; wait; echo ok" });
    expect(result).toMatchObject({ exit_code: 0, stdout: "ok\n" });
  });

  it("[SBX-10] writing past the storage limit gives ENOSPC inside, blocks and inodes alike", async () => {
    await using sandbox = await create({ storageBytes: 32 * MiB });
    const blocks = await sandbox.exec({ command: "head -c 100000000 /dev/zero > big", trackFiles: false });
    expect(blocks.stderr).toMatch(/No space left/);
    expect((await sandbox.exec({ command: "rm big && echo ok > small && cat small", trackFiles: false })).stdout).toBe(
      "ok\n",
    );
    const inodes =
      "import os\nn=0\ntry:\n  while n<200000: open(f'f{n}','w').close(); n+=1\nexcept OSError as e: print(e.strerror)";
    const result = await sandbox.executeCode({ language: "python", code: inodes, trackFiles: false });
    expect(result.stdout).toMatch(/No space left/);
  });

  it("[SBX-11] the wall clock ends a run with its whole tree, double-forked daemons included", async () => {
    await using sandbox = await create();
    const result = await sandbox.exec({
      command: "trap '' TERM; (setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' &) ; while :; do sleep 1; done",
      limits: { timeoutMs: 700 },
    });
    expect(result).toMatchObject({ timed_out: true, cpu_limit: false, exit_code: 137 });
    expect(
      (await sandbox.exec({ command: "ps ax 2>/dev/null | grep -c '[s]leep' ; cat /proc/[0-9]*/comm" })).stdout,
    ).not.toMatch(/sleep/);
  });

  it("[SBX-11] CPU seconds end a run, over all its processes, and the result says which limit it was", async () => {
    await using sandbox = await create({ cpus: 2 });
    const spin = "for i in 1 2 3; do (while :; do :; done) & done; wait";
    const result = await sandbox.exec({ command: spin, limits: { cpuTimeMs: 1_000, timeoutMs: 30_000 } });
    expect(result).toMatchObject({ cpu_limit: true, timed_out: false });
    expect(result.cpu_ms).toBeLessThan(4_000);
  });

  it.each([
    [
      "children that are waited for",
      "import os,time\nwhile True:\n  p=os.fork()\n  if p==0:\n    t=time.process_time()\n    while time.process_time()-t<0.1: pass\n    os._exit(0)\n  os.waitpid(p,0)",
    ],
    [
      "children that nobody waits for",
      "import os,time,signal\nsignal.signal(signal.SIGCHLD,signal.SIG_IGN)\nwhile True:\n  if os.fork()==0:\n    t=time.process_time()\n    while time.process_time()-t<0.1: pass\n    os._exit(0)\n  time.sleep(0.1)",
    ],
  ])(
    "[SBX-11] CPU seconds are not saved by %s",
    async (_what, code) => {
      await using sandbox = await create();
      const result = await sandbox.executeCode({
        language: "python",
        code,
        limits: { cpuTimeMs: 1_000, timeoutMs: 40_000 },
      });
      expect(result).toMatchObject({ cpu_limit: true, timed_out: false });
    },
    60_000,
  );

  it("[SBX-11] signals of the run's own making do not keep its limits away", async () => {
    await using sandbox = await create({ cpus: 2 });
    const code =
      "import os,signal,time\np=os.getpid()\nif os.fork()==0:\n  while True:\n    os.kill(p,signal.SIGSTOP); os.kill(p,signal.SIGCONT); time.sleep(0.002)\nwhile True: pass";
    const result = await sandbox.executeCode({
      language: "python",
      code,
      limits: { cpuTimeMs: 1_000, timeoutMs: 40_000 },
    });
    expect(result).toMatchObject({ cpu_limit: true, timed_out: false });
  }, 60_000);

  it("[SBX-11] a daemon ends with its run, also while another run's processes come and go (hazard 28)", async () => {
    await using sandbox = await create();
    const other = await sandbox.start({ command: "sleep 0.5 & sleep 30", trackFiles: false });
    await sandbox.exec({ command: "(setsid sleep 200 >/dev/null 2>&1 &) ; sleep 1.5", trackFiles: false });
    expect((await sandbox.exec({ command: "cat /proc/[0-9]*/cmdline | tr '\\0' ' '" })).stdout).not.toMatch(
      /sleep 200/,
    );
    other.kill();
    await other.result;
  });

  it("[SBX-11] what a run leaves in the background ends with it (hazard 28)", async () => {
    await using sandbox = await create();
    await sandbox.exec({ command: "(setsid sleep 300 >/dev/null 2>&1 &); nohup sleep 300 >/dev/null 2>&1 & exit 0" });
    expect((await sandbox.exec({ command: "cat /proc/[0-9]*/comm" })).stdout).not.toMatch(/sleep/);
  });

  it("[SBX-08] a busy loop leaves a neighbour its share of the processor", async () => {
    await using busy = await create({ cpus: 2 });
    await using neighbour = await create({ cpus: 2 });
    const stop = new AbortController();
    const spin = await busy.start({
      command: "for i in 1 2 3 4; do (while :; do :; done) & done; wait",
      signal: stop.signal,
      trackFiles: false,
    });
    const work = "import time\nw=time.monotonic()\nwhile time.monotonic()-w<2: pass";
    const used = async () => ({ busy: (await busy.stats()).cpuMs, neighbour: (await neighbour.stats()).cpuMs });
    const before = await used();
    await neighbour.executeCode({ language: "python", code: work, trackFiles: false });
    const after = await used();
    stop.abort();
    await spin.result;
    // One thread against four on two cores: one to four without shares by sandbox; with them one to two, since the
    // busy one's share is spread over both cores.
    expect((after.neighbour - before.neighbour) / (after.busy - before.busy)).toBeGreaterThan(0.34);
  });

  it("[SBX-08] shares weigh: one with eight times as many gets far more of the processor", async () => {
    await using light = await create({ cpus: 2, cpuShares: 512 });
    await using heavy = await create({ cpus: 2, cpuShares: 4096 });
    const stop = new AbortController();
    const spin = { command: "for i in 1 2 3; do (while :; do :; done) & done; wait", signal: stop.signal };
    const runs = await Promise.all([light, heavy].map((sandbox) => sandbox.start({ ...spin, trackFiles: false })));
    const used = () => Promise.all([light, heavy].map(async (sandbox) => (await sandbox.stats()).cpuMs));
    const [lightBefore = 0, heavyBefore = 0] = await used();
    let [lightMs, heavyMs] = [0, 0];
    // Enough of it to tell them apart, however much the machine has to spare.
    while (lightMs + heavyMs < 4_000) {
      await sleep(100);
      const [lightAfter = 0, heavyAfter = 0] = await used();
      [lightMs, heavyMs] = [lightAfter - lightBefore, heavyAfter - heavyBefore];
    }
    stop.abort();
    await Promise.all(runs.map((run) => run.result));
    expect(heavyMs / lightMs).toBeGreaterThan(2);
  });

  it("[SBX-08] a core quota holds, however many want to run", async () => {
    await using sandbox = await create({ cpus: 0.2 });
    const spin = "for i in 1 2 3; do timeout 2 bash -c 'while :; do :; done' & done; wait";
    const before = (await sandbox.stats()).cpuMs;
    const startedMs = performance.now();
    await sandbox.exec({ command: spin, trackFiles: false });
    const usedMs = (await sandbox.stats()).cpuMs - before;
    expect(usedMs / (performance.now() - startedMs)).toBeLessThan(0.28);
  });

  it("[SBX-14] what is enforced is told, and nothing is told that was not applied", async () => {
    await using sandbox = await create();
    const result = await sandbox.exec({ command: "true" });
    expect([...result.enforced].sort()).toEqual(
      [
        "cpu",
        "memory",
        "network_namespace",
        "no_capabilities",
        "no_new_privileges",
        "processes",
        "read_only_root",
        "seccomp",
        "storage",
        "user_namespace",
      ].sort(),
    );
    expect(result.not_enforced).toEqual([]);
  });
});
