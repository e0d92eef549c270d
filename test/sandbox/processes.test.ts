import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requestLimits } from "../../packages/server/src/core/limits.ts";
import type { SandboxProcess } from "../../packages/server/src/core/process.ts";
import type { OutputChannel } from "../../packages/server/src/core/wire.ts";
import { processLimits } from "../../packages/server/src/sandboxes/limits.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";
import { killProcessesOf } from "../leaks.ts";

const limits = { memoryBytes: 128 * 1024 ** 2, storageBytes: 16 * 1024 ** 2, processes: 512 };

async function text(process: SandboxProcess, channel: OutputChannel = "stdout", offset = 0): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const { data } of process.output({ channel, offset })) pieces.push(data);
  return Buffer.concat(pieces).toString();
}

/** Reads until the words have come. */
async function until(process: SandboxProcess, words: string): Promise<void> {
  let seen = "";
  for await (const { data } of process.output()) {
    seen += data.toString();
    if (seen.includes(words)) return;
  }
  throw new Error(`ended after ${JSON.stringify(seen)}`);
}

describe.each(engines)("a background process (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, limits });
  });
  afterAll(async () => {
    await sandbox.destroy();
    await test[Symbol.asyncDispose]();
  });

  it("[EXE-03] runs on after its start; its input is written and closed, its output read from any offset", async () => {
    const process = await sandbox.processes.start({
      command: "echo ready; echo other >&2; cat; echo end; exit 3",
      stdin: true,
    });
    await until(process, "ready");
    expect(process.info()).toMatchObject({ state: "running", result: null });
    expect((await sandbox.exec({ command: "echo beside" })).stdout).toBe("beside\n");
    expect(await process.write("first\n")).toBe(true);
    await until(process, "first");
    expect((await process.read(6)).data.toString()).toBe("first\n");
    expect((await process.read(0, { maxBytes: 3 })).data.toString()).toBe("rea");
    await process.write(Buffer.from("second\n"));
    await process.closeInput();
    expect(await process.wait()).toMatchObject({ exit_code: 3, signal: null, timed_out: false, cpu_limit: false });
    expect(await text(process)).toBe("ready\nfirst\nsecond\nend\n");
    expect(await text(process, "stdout", 12)).toBe("second\nend\n");
    expect(await text(process, "stderr")).toBe("other\n");
    expect(await process.read(1000)).toMatchObject({ data: Buffer.alloc(0) });
    expect(await process.write("late")).toBe(false);
  });

  it("[EXE-03] is listed with its command, pid and state, and found by its id", async () => {
    const process = await sandbox.processes.start({ command: ["sleep", "100"], env: { A: "b" }, cwd: "/tmp" });
    const info = sandbox.processes.list().find(({ id }) => id === process.id);
    expect(info).toMatchObject({ state: "running", command: ["sleep", "100"], result: null });
    expect(info?.pid).toBeGreaterThan(1);
    expect(sandbox.processes.get(process.id)).toBe(process);
    expect(() => sandbox.processes.get("p000000000000")).toThrow(/unknown process/);
    expect((await sandbox.exec({ command: `cat /proc/${info?.pid}/comm` })).stdout).toBe("sleep\n");
    process.kill();
    await process.wait();
    expect(process.info().state).toBe("exited");
  });

  it("[EXE-03] takes signals for its group, and its end takes its whole tree", async () => {
    const process = await sandbox.processes.start({
      command: "trap 'echo caught' USR1; sleep 1000 & echo ready; while :; do wait; done",
    });
    await until(process, "ready");
    expect(process.signal("SIGUSR1")).toBe(true);
    await until(process, "caught");
    expect(() => process.signal(65)).toThrow(/unknown signal/);
    expect(process.signal("SIGKILL")).toBe(true);
    expect(await process.wait()).toMatchObject({ exit_code: 137, signal: "SIGKILL" });
    expect(process.signal("SIGTERM")).toBe(false);
    expect((await sandbox.exec({ command: "cat /proc/[0-9]*/comm | grep -cx sleep || true" })).stdout).toBe("0\n");
  });

  it("without a pipe reads nothing and cannot be written to", async () => {
    const process = await sandbox.processes.start({ command: "cat; echo eof" });
    await expect(process.write("x")).rejects.toMatchObject({ code: "invalid" });
    await process.wait();
    expect(await text(process)).toBe("eof\n");
  });

  it("runs on a terminal when asked, which is typed into and resized", async () => {
    const terminal = { rows: 30, columns: 90 };
    const process = await sandbox.processes.start({ command: "stty size; read word; stty size; exit 6", terminal });
    await until(process, "30 90");
    expect(process.resize({ rows: 31, columns: 91 })).toBe(true);
    await process.write("word\n");
    expect(await process.wait()).toMatchObject({ exit_code: 6 });
    expect(await text(process)).toContain("31 91");
    const piped = await sandbox.processes.start({ command: "true" });
    expect(() => piped.resize(terminal)).toThrow(/no terminal/);
  });

  it("that cannot be started leaves nothing in the list", async () => {
    const before = sandbox.processes.list().length;
    await expect(sandbox.processes.start({ command: ["/no/such/program"] })).rejects.toMatchObject({
      code: "not_found",
    });
    await expect(sandbox.processes.start({ command: [] })).rejects.toMatchObject({ code: "invalid" });
    expect(sandbox.processes.list().length).toBe(before);
  });

  it("[SBX-13] lives for its time and computes for its seconds; an hour is given, and a day is the most", async () => {
    expect(requestLimits.processTimeMs).toMatchObject({ default: 3_600_000, max: 86_400_000 });
    const slow = await sandbox.processes.start({ command: "sleep 1000", limits: { timeoutMs: 300 } });
    expect(await slow.wait()).toMatchObject({ timed_out: true, cpu_limit: false });
    const busy = await sandbox.processes.start({ command: "while :; do :; done", limits: { cpuTimeMs: 1000 } });
    expect(await busy.wait()).toMatchObject({ timed_out: false, cpu_limit: true });
    const tooLong = sandbox.processes.start({ command: "true", limits: { timeoutMs: 86_400_001 } });
    await expect(tooLong).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining("86400 s") });
  });

  it("keeps the newest of its output, and says from where on", async () => {
    const lines = 1_500_000;
    const process = await sandbox.processes.start({ command: `seq ${lines}` });
    await process.wait();
    const { from, to } = process.info().output.stdout;
    expect(from).toBeGreaterThan(0);
    expect(to - from).toBeLessThanOrEqual(processLimits.logBytes);
    expect((await process.read(0)).offset).toBe(from);
    expect((await text(process)).endsWith(`\n${lines - 1}\n${lines}\n`)).toBe(true);
  });

  it("whose output cannot be stored is ended, and says why", async () => {
    const process = await sandbox.processes.start({ command: "read go; seq 1000000; sleep 1000", stdin: true });
    await rm(join(test.home, "engine/sandboxes", sandbox.id, "owner/processes", process.id), { recursive: true });
    await process.write("go\n");
    await expect(process.wait()).rejects.toMatchObject({ code: "unavailable", message: /cannot be stored: ENOENT/ });
    expect(process.info()).toMatchObject({ state: "lost" });
    expect((await sandbox.exec({ command: "cat /proc/[0-9]*/comm | grep -cx seq || true" })).stdout).toBe("0\n");
  });

  it("says that it is lost when its sandbox is", async () => {
    const other = await test.caisson.createSandbox({ engine, limits });
    const process = await other.processes.start({ command: "echo said; sleep 1000" });
    await until(process, "said");
    const waiting = process.wait();
    killProcessesOf(other.id);
    await expect(waiting).rejects.toMatchObject({ code: "unavailable" });
    expect(process.info().state).toBe("lost");
    expect(await text(process)).toBe("said\n");
    await other.destroy();
  });
});

describe("the processes of a sandbox", () => {
  it("[EXE-03] are 64 at most: the oldest ended ones make room, and a start that is refused evicts none", async () => {
    await using test = await openTestCaisson();
    await using sandbox = await test.caisson.createSandbox({ engine: "container", limits });
    const { processes } = sandbox;
    const ids = () => processes.list().map(({ id }) => id);
    const started = async (command: string) => (await processes.start({ command })).id;
    const ended = [await started("true"), await started("true"), await started("true")];
    for (const id of ended) await processes.get(id).wait();
    const running: string[] = [];
    while (running.length < processLimits.processes - 3) running.push(await started("sleep 1000"));
    expect(ids()).toEqual([...ended, ...running]);

    await expect(processes.start({ command: ["/no/such/program"] })).rejects.toMatchObject({ code: "not_found" });
    expect(ids()).toEqual([...ended, ...running]);

    for (const gone of [1, 2, 3]) {
      running.push(await started("sleep 1000"));
      expect(ids()).toEqual([...ended.slice(gone), ...running]);
    }
    await expect(processes.start({ command: "true" })).rejects.toMatchObject({ code: "limit_exceeded" });
    expect(ids()).toEqual(running);
    processes.get(running[5] ?? "").kill();
    await processes.get(running[5] ?? "").wait();
    await started("true");
    expect(ids()).not.toContain(running[5]);
    expect(ids().length).toBe(processLimits.processes);
  });
});
