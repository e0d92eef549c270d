import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ExitRecord } from "../../packages/server/src/core/wire.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { WireConnection } from "../../packages/server/src/wire/connection.ts";
import { engines, openTestCaisson, openTestEngine, type TestCaisson } from "../harness.ts";
import { processesOf } from "../leaks.ts";

const MiB = 1024 ** 2;

/** Finds processes that have the user's uid and are not the program yet, and treats each so many times. */
const hunter = (signal: "SIGSTOP" | "SIGKILL", times: number) => `
import os, signal
print("ready", flush=True)
def name(pid):
  try: return open(f"/proc/{pid}/comm").read().strip()
  except OSError: return None
hits={}
while True:
  for pid in os.listdir("/proc"):
    if not pid.isdigit() or pid=="1" or name(pid)!="guest" or hits.get(pid,0)>=${times}: continue
    try: os.kill(int(pid), signal.${signal})
    except OSError: continue
    hits[pid]=hits.get(pid,0)+1
    print("hit", flush=True)
    # It may have become the program meanwhile, which nobody lets go on.
    if name(pid)!="guest":
      try: os.kill(int(pid), signal.SIGCONT)
      except OSError: pass
`;

/** The first thread of this process ends; another one does the work. */
const leaderless = (work: string) => `
import ctypes, threading, time
def work():
  while open("/proc/self/status").read().split("State:")[1].split()[0]!="Z": time.sleep(0.001)
${work.replace(/^/gm, "  ")}
threading.Thread(target=work).start()
ctypes.CDLL(None).syscall(60, 0)
`;

describe.each(engines)("newborns and trees (%s)", (engine) => {
  let test: TestCaisson;
  beforeAll(async () => {
    test = await openTestCaisson();
  });
  afterAll(async () => {
    await test[Symbol.asyncDispose]();
  });
  const create = (limits = {}) =>
    test.caisson.createSandbox({ engine, warm: "never", limits: { storageBytes: 64 * MiB, cpus: 2, ...limits } });

  /** A program that is looked for in thousands of folders first: a newborn that user code has the time to find. */
  function slowStart(sandbox: Sandbox): Promise<ExitRecord> {
    const folders = engine === "gvisor" ? 4_000 : 25_000;
    const environment = { PATH: `${"/x:".repeat(folders)}/usr/bin:/bin` };
    return sandbox.wire.open("process", { arguments: ["true"], environment, timeoutMs: 60_000 }, () => undefined).exit;
  }

  /** Starts programs until the hunter has met as many newborns as asked for. */
  async function startHunted(sandbox: Sandbox, code: string, hits: number): Promise<ExitRecord[]> {
    let text = "";
    const ready = Promise.withResolvers<void>();
    const onOutput = (_channel: string, chunk: Buffer) => {
      text += chunk.toString();
      ready.resolve();
      return undefined;
    };
    const hunt = await sandbox.start({ command: ["python3", "-c", code], trackFiles: false, onOutput });
    await ready.promise;
    const records: ExitRecord[] = [];
    while (text.split("hit").length - 1 < hits) records.push(await slowStart(sandbox));
    hunt.kill();
    await hunt.result;
    return records;
  }

  const guestPid = (sandbox: Sandbox) => {
    const pid = processesOf(sandbox.id).find((pid) => readFileSync(`/proc/${pid}/comm`, "utf8") === "guest\n");
    if (pid === undefined) throw new Error("there is no guest");
    return pid;
  };

  it("a newborn that user code stops goes on, and becomes the program", async () => {
    await using sandbox = await create();
    const records = await startHunted(sandbox, hunter("SIGSTOP", 3), 4);
    expect(records.length).toBeGreaterThan(0);
    expect(records.map((record) => [record.exitCode, record.timedOut])).toEqual(records.map(() => [0, false]));
  }, 60_000);

  it("a newborn that user code kills is a run that was killed; nothing of it stays with the guest", async () => {
    await using sandbox = await create();
    const held = () => (engine === "container" ? readdirSync(`/proc/${guestPid(sandbox)}/fd`).length : 0);
    await sandbox.exec({ command: "true", trackFiles: false });
    const before = held();
    const records = await startHunted(sandbox, hunter("SIGKILL", 1), 6);
    expect(records.filter((record) => record.signal === 9).length).toBeGreaterThan(0);
    expect(records.filter((record) => record.signal !== 9 && record.exitCode !== 0)).toEqual([]);
    expect((await sandbox.exec({ command: "echo alive", trackFiles: false })).stdout).toBe("alive\n");
    expect(held()).toBe(before);
  }, 60_000);

  it("many starts at once each get their own arguments, environment and end", async () => {
    await using sandbox = await create({ processes: 256 });
    const runs = Array.from({ length: 60 }, async (_, i) => {
      const filler = "x".repeat(50_000);
      const command = ["sh", "-c", `echo $MARK; exit ${i}`, filler];
      const result = await sandbox.exec({ command, env: { MARK: `mark-${i}` }, trackFiles: false });
      return [result.exit_code, result.stdout];
    });
    expect(await Promise.all(runs)).toEqual(runs.map((_, i) => [i, `mark-${i}\n`]));
  });

  it.runIf(engine === "container")("what a start needed is given back, whether it succeeds or fails", async () => {
    await using sandbox = await create();
    const filler = "x".repeat(90_000);
    const starts = async (count: number) => {
      for (let i = 0; i < count; i++) {
        await sandbox.exec({ command: ["/bin/true", filler], trackFiles: false });
        await sandbox.exec({ command: ["/bin/none", filler], trackFiles: false }).catch(() => undefined);
      }
    };
    const resident = () => {
      const status = readFileSync(`/proc/${guestPid(sandbox)}/status`, "utf8");
      return Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1]) * 1024;
    };
    await starts(10);
    const before = resident();
    await starts(100);
    expect(resident() - before).toBeLessThan(4 * MiB); // 18 MB of specs went through
  });

  it("[SBX-11] a process whose first thread has ended ends with its run (hazard 28)", async () => {
    await using sandbox = await create();
    const daemon = leaderless("while True: time.sleep(1)");
    const code = `
import os, subprocess, sys, time
daemon=subprocess.Popen([sys.executable, "-c", ${JSON.stringify(daemon)}], start_new_session=True)
while "Z" not in open(f"/proc/{daemon.pid}/status").read().split("State:")[1].split("\\n")[0]: time.sleep(0.01)
print("left", flush=True)
os._exit(0)
`;
    const result = await sandbox.executeCode({ language: "python", code, trackFiles: false });
    expect(result).toMatchObject({ exit_code: 0, stdout: "left\n" });
    const names = await sandbox.exec({ command: "cat /proc/[0-9]*/comm", trackFiles: false });
    expect(names.stdout).not.toMatch(/python/);
  });

  it("[SBX-07] memory of a process whose first thread has ended counts", async () => {
    await using sandbox = await create();
    const code = leaderless("a=bytearray(200<<20)\nwhile True: time.sleep(1)");
    const limits = { memoryBytes: 64 * MiB, timeoutMs: 30_000 };
    const result = await sandbox.executeCode({ language: "python", code, limits, trackFiles: false });
    expect(result).toMatchObject({ oom_killed: true, timed_out: false });
  });

  it("CPU time of a process that nobody but the guest reaps is its run's", async () => {
    await using sandbox = await create();
    const code = `
import os, time
r,w=os.pipe()
if os.fork()==0:
  if os.fork()==0:
    while time.process_time()<0.4: pass
    os._exit(0)
  os._exit(0)
os.close(w); os.wait(); os.read(r,1)
`;
    const result = await sandbox.executeCode({ language: "python", code, trackFiles: false });
    expect(result.exit_code).toBe(0);
    expect(result.cpu_ms).toBeGreaterThanOrEqual(300);
  });

  it.runIf(engine === "container")("user code is killed for memory before the guest is", async () => {
    await using sandbox = await create();
    const own = readFileSync("/proc/self/oom_score_adj", "utf8");
    const guest = guestPid(sandbox);
    const [first, second] = [1, 2].map(() =>
      sandbox.exec({ command: "cat /proc/self/oom_score_adj", trackFiles: false }),
    );
    expect((await first)?.stdout).toBe("1000\n");
    expect((await second)?.stdout).toBe("1000\n");
    while (readFileSync(`/proc/${guest}/oom_score_adj`, "utf8") !== own) await sleep(1);
  });
});

it("a guest that is told to share no memory starts programs all the same, and says why it cannot", async () => {
  await using test = await openTestEngine("container", ["copy-memory"]);
  const limits = { memoryBytes: 128 * MiB, cpus: 1, cpuShares: 1024, processes: 64, storageBytes: 16 * MiB };
  const created = await test.engine.create({ limits });
  const wire = await WireConnection.attach(created, new Promise<string>(() => {}));
  const run = (...words: string[]) => wire.open("process", { arguments: words }, () => undefined).exit;
  expect(await run("sh", "-c", "exit 7")).toMatchObject({ exitCode: 7, startError: null });
  expect(await run("no-such-program")).toMatchObject({ startError: 2 });
  wire.close("done");
  await test.engine.destroy(created.id);
});
