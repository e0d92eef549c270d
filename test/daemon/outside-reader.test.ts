import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type AuditKey, readAuditKey } from "../../packages/server/src/store/audit/row-mac.ts";
import { verifyLog } from "../../packages/server/src/store/audit/verify-log.ts";
import { seed, soak } from "../harness.ts";
import { Up } from "./up.ts";

const kills = soak ? 100 : 3;
const callers = 4;
/** Acknowledged from one kill to the next, at most. */
const between = 20;

/** Sandboxes and runs that the daemon has acknowledged. */
interface Acknowledged {
  sandboxes: string[];
  runs: { id: string; stdout: string }[];
}

/** Numbers below a limit, the same for the same seed. */
function randomNumbers(): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Calls that make sandboxes and run in them until they are stopped; those that a kill cuts off count for nothing. */
function startCallers(up: Up, sandbox: string) {
  const acknowledged: Acknowledged = { sandboxes: [sandbox], runs: [] };
  const stopped = new AbortController();
  let next = 0;
  const answerTo = async <T>(path: string, body: object): Promise<T | undefined> => {
    const response = await up.fetch(path, body);
    return response.ok ? ((await response.json()) as T) : undefined;
  };
  const call = async () => {
    const number = next++;
    if (number % 10 === 9) {
      const made = await answerTo<{ id: string }>("/api/v1/sandboxes", { engine: "container" });
      if (made === undefined) return;
      acknowledged.sandboxes.push(made.id);
      await up.delete(`/api/v1/sandboxes/${made.id}`);
      return;
    }
    const path = `/api/v1/sandboxes/${sandbox}/exec`;
    const ran = await answerTo<{ run_id: string; stdout: string }>(path, { command: `echo ${number}` });
    if (ran !== undefined) acknowledged.runs.push({ id: ran.run_id, stdout: ran.stdout });
  };
  const worker = async () => {
    while (!stopped.signal.aborted) await call().catch(() => sleep(20));
  };
  const done = Promise.all(Array.from({ length: callers }, worker));
  return {
    acknowledged,
    reach: async (count: number) => {
      while (acknowledged.runs.length < count) await sleep(1);
    },
    stop: async () => {
      stopped.abort();
      await done;
    },
  };
}

/** Acknowledged things that the database does not have, and problems of its chains. */
function missing(path: string, keys: readonly AuditKey[], { sandboxes, runs }: Acknowledged): unknown[] {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    const record = db.prepare("select record from runs where run_id = ?");
    const ended = db.prepare("select type, detail from audit where run_id = ? and type <> 'execution.started'");
    const made = db.prepare("select 1 from audit where sandbox_id = ? and type = 'sandbox.created'");
    return [
      ...runs.flatMap(({ id, stdout }) => {
        const row = record.get(id);
        if (row === undefined) return [`record of ${id}`];
        const entry = ended.get(id);
        if (entry?.type !== "execution.completed") return [`entry of ${id}: ${entry?.type} ${entry?.detail}`];
        return JSON.parse(String(row.record)).stdout === stdout ? [] : [`output of ${id}`];
      }),
      ...sandboxes.flatMap((id) => (made.get(id) === undefined ? [`entry of ${id}`] : [])),
      ...verifyLog(db, { keys, head: undefined }).problems,
    ];
  } finally {
    db.close();
  }
}

describe("the database of a daemon that is killed", () => {
  it(
    "[AUD-01] [EXE-14] (S102) shows another program at once every sandbox and run that was acknowledged, each with its entry, in chains that verify",
    async () => {
      const random = randomNumbers();
      await using up = await Up.start();
      const path = join(up.home, "daemon/caisson.db");
      const keys = [readAuditKey(readFileSync(join(up.home, "daemon/signing-key.pem"), "utf8"))];
      const sandbox = await up.create("container");
      const load = startCallers(up, sandbox);
      let status = await up.status();
      for (let kill = 0; kill < kills; kill++) {
        await load.reach(load.acknowledged.runs.length + 1 + random(between));
        process.kill(status.daemon?.pid ?? 0, "SIGKILL");
        // Before its successor, or the answer to a call, has had a turn.
        expect(missing(path, keys, load.acknowledged)).toEqual([]);
        status = await up.waitForRestart(status);
      }
      await load.stop();
      expect(missing(path, keys, load.acknowledged)).toEqual([]);
      expect(load.acknowledged.runs.length).toBeGreaterThanOrEqual(kills);
      await up.delete(`/api/v1/sandboxes/${sandbox}`);
    },
    soak ? 3_600_000 : 180_000,
  );
});
