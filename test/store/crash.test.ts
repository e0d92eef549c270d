import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readAuditKey } from "../../packages/server/src/store/audit/row-mac.ts";
import { verifyFile } from "../../packages/server/src/store/audit/verify-file.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import type { Store } from "../../packages/server/src/store/store.ts";
import { seed, soak } from "../harness.ts";
import { databaseFiles } from "./entries.ts";

/** The same numbers for the same seed. */
function randomNumbers(): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const run = promisify(execFile);
let folder: string;
let path: string;
let children: ChildProcess[];

beforeEach(async () => {
  folder = await mkdtemp("/var/tmp/caisson-crash-");
  path = join(folder, "caisson.db");
  children = [];
});
afterEach(async () => {
  for (const child of children) await end(child);
  await rm(folder, { recursive: true });
});

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

/** A process that records `count` entries as fast as it can, and the numbers of the entries that it knows to be taken. */
function startRecorder(name: string, count: number, first = 1, pauseMs = 0) {
  const acknowledgedPath = join(folder, name);
  const args = [
    join(import.meta.dirname, "recorder.ts"),
    path,
    acknowledgedPath,
    ...[first, count, pauseMs].map(String),
  ];
  const child = spawn(process.execPath, args, {
    stdio: "ignore",
  });
  children.push(child);
  const acknowledged = async () => {
    const text = await readFile(acknowledgedPath, "utf8").catch(() => "");
    // A last line that is cut in two is not one.
    return text.split("\n").slice(0, -1).map(Number);
  };
  const reach = async (count: number) => {
    while ((await acknowledged()).length < count) {
      if (child.exitCode !== null) throw new Error(`the recorder ended with ${child.exitCode}`);
      await pause(5);
    }
  };
  return { child, acknowledged, reach };
}

async function recorded(store: Store): Promise<number[]> {
  const numbers: number[] = [];
  for (let after = 0; ; ) {
    const rows = await store.audit.search({ after, limit: 1_000 });
    for (const { detail } of rows) if (typeof detail.number === "number") numbers.push(detail.number);
    const last = rows.at(-1);
    if (last === undefined) return numbers;
    after = last.position;
  }
}

/** Each was inserted together with the entry of its number. */
function sandboxNumbers(): Set<number> {
  const db = new DatabaseSync(path, { readOnly: true });
  const ids = db.prepare("select id from sandboxes").all();
  db.close();
  return new Set(ids.map(({ id }) => Number(String(id).slice("sb-".length))));
}

const keys = async () => [readAuditKey(await readFile(join(folder, "signing-key.pem"), "utf8"))];

describe("a store whose process is killed", () => {
  it("[AUD-01] holds every entry that it acknowledged, each with the change that it is about, and verifies", async () => {
    const random = randomNumbers();
    const rounds = soak ? 50 : 3;
    let rows = 0;
    for (let round = 0; round < rounds; round++) {
      const { child, acknowledged, reach } = startRecorder(`acknowledged-${round}`, 1_000_000, 1 + round * 1_000_000);
      await reach(1 + random(2_000));
      await end(child);
      const verdict = await verifyFile({ path, keys: await keys(), headNeeded: true });
      expect(verdict.problems).toEqual([]);
      expect(verdict.rows).toBeGreaterThan(rows);
      rows = verdict.rows;
      await using store = await openStore({ path });
      const held = new Set(await recorded(store));
      expect((await acknowledged()).filter((number) => !held.has(number))).toEqual([]);
      expect(await store.audit.verify()).toMatchObject({ ok: true });
      expect(sandboxNumbers()).toEqual(held);
    }
  });

  it("[AUD-01] (S102) shows each change and its entry to another program from the moment it is acknowledged, in chains that verify", async () => {
    const { child, reach } = startRecorder("acknowledged", 1_000_000, 1, 5);
    await reach(1_000); // from then on each chain has a checkpoint
    const script = join(import.meta.dirname, "outside-reader.ts");
    const checks = String(soak ? 1_000 : 25);
    const args = [path, join(folder, "signing-key.pem"), join(folder, "acknowledged"), checks];
    const { stdout } = await run(process.execPath, [script, ...args]);
    expect(stdout).toBe(`${checks}\n`);
    await end(child);
    await run(process.execPath, [script, ...args.slice(0, 3), "1"]);
  });

  it("[AUD-01] can be copied file by file while it writes: each copy opens, verifies, and holds what was acknowledged before", async () => {
    const random = randomNumbers();
    // So few that the log does not turn over: a copy taken across that may be torn.
    const { acknowledged, reach } = startRecorder("acknowledged", 4_000, 1, 20);
    for (let copy = 0; copy < 5; copy++) {
      await reach(Math.min(3_900, (await acknowledged()).length + random(500)));
      const before = await acknowledged();
      const target = join(folder, `copy-${copy}`);
      await mkdir(target);
      for (const name of ["signing-key.pem", "audit-head.json", ...databaseFiles]) {
        await copyFile(join(folder, name), join(target, name));
      }
      await using store = await openStore({ path: join(target, "caisson.db") });
      const held = new Set(await recorded(store));
      expect(before.filter((number) => !held.has(number))).toEqual([]);
      expect((await store.audit.verify()).problems).toEqual([]);
    }
  });
});
