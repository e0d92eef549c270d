import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { JournalEvent } from "../../packages/server/src/core/journal.ts";
import { AttemptLog } from "../../packages/server/src/egress/attempt-log.ts";
import { egressLimits } from "../../packages/server/src/egress/limits.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import type { Store } from "../../packages/server/src/store/store.ts";
import { journalOf } from "../journal.ts";
import { attempt } from "./egress-contract.ts";

describe("the log of egress", () => {
  let folder: string;
  let store: Store;
  const open = () => openStore({ path: join(folder, "caisson.db") });
  beforeEach(async () => {
    folder = await mkdtemp("/var/tmp/caisson-test-");
    store = await open();
  });
  afterEach(async () => {
    await store[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const waited: number[] = [];
  const news: JournalEvent[] = [];
  const errors: unknown[] = [];
  let nowMs = 0;
  const openLog = async () => {
    for (const list of [waited, news, errors]) list.length = 0;
    return AttemptLog.open({
      records: store.attempts,
      journal: await journalOf(store, (event) => news.push(event)),
      clock: { wallMs: () => 0, monotonicMs: () => nowMs },
      namespaceOf: (id) => (id.startsWith("box") ? "team" : undefined),
      sleep: async (ms) => void waited.push(ms),
      onError: (error) => void errors.push(error),
    });
  };

  it("[NET-11] writes each attempt into the audit log too, tells of refusals, and bounds what a program said", async () => {
    const log = await openLog();
    await log.attempted(attempt("one"));
    const host = "x".repeat(5_000);
    await log.attempted(attempt("two", { host, verdict: "denied", reason: host, rule: null, layer: null }));
    await log.attempted(attempt("three", { sandboxId: "pooled", verdict: "failed" }));
    const rows = await store.audit.search({ limit: 9 });
    expect(rows.map(({ type, namespace }) => [type, namespace])).toEqual([
      ["egress.failed", "system"],
      ["egress.denied", "team"],
      ["egress.allowed", "team"],
    ]);
    const [denied] = await store.attempts.list({ namespace: "team", verdict: "denied", limit: 9 });
    expect([denied?.host.length, denied?.reason?.length]).toEqual([253, 400]);
    expect(news).toMatchObject([{ type: "egress.denied", namespace: "team", sandbox_id: "box", data: { port: 443 } }]);
  });

  it("makes a program that tries without end wait, and no other", async () => {
    const log = await openLog();
    const { attemptBurst, attemptsPerSecond } = egressLimits;
    await Promise.all(Array.from({ length: attemptBurst }, (_, at) => log.attempted(attempt(`a${at}`))));
    expect(waited).toEqual([]);
    await log.attempted(attempt("late"));
    await log.attempted(attempt("later"));
    await log.attempted(attempt("neighbour", { sandboxId: "box-2" }));
    expect(waited).toEqual([1000 / attemptsPerSecond, 2000 / attemptsPerSecond]);
    nowMs += 1_000;
    await log.attempted(attempt("rested"));
    expect(waited.length).toBe(2);
    expect(errors).toEqual([]);
  });
});
