import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { SandboxProcess } from "../../packages/server/src/core/process.ts";
import type { ProcessResult } from "../../packages/server/src/core/process-result.ts";
import type { OutputChannel } from "../../packages/server/src/core/wire.ts";
import { SandboxCgroup } from "../../packages/server/src/engines/oci/cgroup.ts";
import { findHierarchies } from "../../packages/server/src/engines/oci/cgroup-mounts.ts";
import { cgroupName } from "../../packages/server/src/engines/oci/sandbox-folder.ts";
import { engines, openTestCaisson, seed, soak } from "../harness.ts";
import { Owner } from "./owner.ts";

const MiB = 1024 ** 2;

/** The same numbers for the same seed. */
function chance(): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** What `seq` writes. */
function numbersHash(last: number): string {
  const hash = createHash("sha256");
  for (let i = 1; i <= last; i++) hash.update(`${i}\n`);
  return hash.digest("hex");
}

async function outputHash(process: SandboxProcess, channel: OutputChannel): Promise<string> {
  expect(process.info().output[channel].from).toBe(0);
  const hash = createHash("sha256");
  let next = 0;
  for await (const { offset, data } of process.output({ channel })) {
    expect(offset).toBe(next);
    hash.update(data);
    next += data.length;
  }
  return hash.digest("hex");
}

/** Numbers its lines until it finds the file, and says how many there were: busy through all kills, and bounded. */
const pacedSeconds = soak ? 0.2 : 0.02;
const paced = `import os, sys, time
n = 0
while not os.path.exists("stop"):
    if n < 500000:
        sys.stdout.write("".join(f"{n + i}\\n" for i in range(1, 101)))
        sys.stdout.flush()
        n += 100
    time.sleep(${pacedSeconds})
print(n, file=sys.stderr)
sys.exit(n % 7 + 1)
`;

interface Expected {
  id: string;
  process: string;
  code: number;
}
const burst = soak ? { out: 120_000, err: 30_000 } : { out: 60_000, err: 15_000 };
const burstsAtMost = 40; // of 64 processes in a list: what is looked at in the end must not make room before

describe("the owner of ten busy kept sandboxes", () => {
  const kills = soak ? 200 : 3;

  it(`[SBX-16] killed with -9, ${kills} times: each follower attaches to all ten, nothing is lost or doubled, exit codes are right`, async () => {
    await using test = await openTestCaisson();
    const random = chance();
    const ids: string[] = [];
    const longs: Expected[] = [];
    const bursts: Expected[] = [];
    let owner = new Owner(test.home);
    try {
      await Promise.all(
        Array.from({ length: 10 }, async (_, i) => {
          const engine = engines[i % 2] ?? "container";
          const id = await owner.ask<string>({ ask: "create", engine });
          ids.push(id);
          const command = `python3 -c '${paced}'`;
          longs.push({ id, process: await owner.ask<string>({ ask: "start", id, command }), code: -1 });
        }),
      );

      for (let round = 0; round < kills; round++) {
        const starts = round < burstsAtMost ? startBursts(owner, ids, round, bursts) : [];
        await Promise.all(starts.slice(0, 1 + Math.floor(random() * starts.length)));
        await sleep(random() * 250);
        await owner.kill();
        if (random() < 0.3) {
          // One that dies while it takes over.
          owner = new Owner(test.home);
          const taken = ids.map((id) => owner.ask({ ask: "attach", id }));
          await taken[Math.floor(random() * ids.length)];
          await owner.kill();
        }
        owner = new Owner(test.home);
        await Promise.all(ids.map((id) => owner.ask({ ask: "attach", id })));
        if (round === 0)
          await expect(test.caisson.attachSandbox(ids[0] ?? "")).rejects.toMatchObject({ code: "conflict" });
      }
      await owner.kill();

      expect(bursts.length).toBeGreaterThan(0);
      const expectedHashes = [numbersHash(burst.out), numbersHash(burst.err)];
      const look = async (id: string) => {
        const sandbox = await test.caisson.attachSandbox(id);
        for (const { process: name, code } of bursts.filter((one) => one.id === id)) {
          const process = sandbox.processes.get(name);
          const result: ProcessResult = await process.wait();
          const hashes = [await outputHash(process, "stdout"), await outputHash(process, "stderr")];
          expect([id, name, result.exit_code, ...hashes]).toEqual([id, name, code, ...expectedHashes]);
        }
        const long = sandbox.processes.get(longs.find((one) => one.id === id)?.process ?? "");
        expect(long.info().state).toBe("running");
        await sandbox.files.write("stop", "");
        const { exit_code } = await long.wait();
        const last = Number((await long.read(0, { channel: "stderr" })).data.toString());
        expect(last).toBeGreaterThan(0);
        expect([exit_code, await outputHash(long, "stdout")]).toEqual([(last % 7) + 1, numbersHash(last)]);
        await sandbox.destroy();
      };
      await Promise.all(ids.map(look));
    } finally {
      await owner.kill();
      for (const { id } of await test.caisson.keptSandboxes()) await test.caisson.destroySandbox(id);
    }
  }, 3_600_000);

  /** At full speed on both channels. Those whose start the owner lived to confirm must be whole. */
  function startBursts(owner: Owner, ids: string[], round: number, started: Expected[]): Promise<void>[] {
    const starts = ids.map(async (id, i) => {
      const code = (round * 10 + i) % 100;
      const command = `seq ${burst.out} & seq ${burst.err} >&2; wait; exit ${code}`;
      const process = await owner.ask<string>({ ask: "start", id, command });
      started.push({ id, process, code });
    });
    for (const start of starts) start.catch(() => undefined); // killed before it was confirmed
    return starts;
  }
});

describe("an owner that is stopped", () => {
  const stoppedMs = soak ? 60_000 : 5_000;

  it(`[SBX-16] for ${stoppedMs / 1000} s: producers wait, memory stays bounded, and everything arrives`, async () => {
    await using test = await openTestCaisson();
    await using owner = new Owner(test.home);
    const hierarchies = await findHierarchies(await readFile("/proc/mounts", "utf8"));
    const memory = (id: string) =>
      new SandboxCgroup(hierarchies, cgroupName(join(test.home, "engine"), id)).stats().memoryBytes;
    const bytes = 64 * MiB;
    const made = await Promise.all(
      engines.map(async (engine) => {
        const id = await owner.ask<string>({ ask: "create", engine });
        const command = `read go; head -c ${bytes} /dev/zero; echo end >&2; exit 9`;
        const process = await owner.ask<string>({ ask: "start", id, command, stdin: true });
        return { id, process, before: memory(id) };
      }),
    );
    try {
      await Promise.all(made.map(({ id, process }) => owner.ask({ ask: "write", id, process, text: "go\n" })));
      owner.signal("SIGSTOP");
      await sleep(stoppedMs);
      const grown = made.map(({ id, before }) => memory(id) - before);
      expect(Math.max(...grown)).toBeLessThan(32 * MiB);
      owner.signal("SIGCONT");
      for (const { id, process } of made) {
        expect(await owner.ask({ ask: "wait", id, process })).toMatchObject({ exit_code: 9, oom_killed: false });
        const info = await owner.ask({ ask: "info", id, process });
        expect(info).toMatchObject({ state: "exited", output: { stdout: { to: bytes }, stderr: { to: 4 } } });
      }
    } finally {
      owner.signal("SIGCONT");
      await owner.kill();
      for (const { id } of made) await test.caisson.destroySandbox(id);
    }
  }, 600_000);
});
