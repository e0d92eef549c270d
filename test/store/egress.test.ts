import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EgressAttempt } from "../../packages/server/src/core/egress.ts";
import { egressLimits } from "../../packages/server/src/core/egress-limits.ts";
import type { FeedNews } from "../../packages/server/src/core/feed.ts";
import type { Store } from "../../packages/server/src/core/store.ts";
import { AttemptLog } from "../../packages/server/src/egress/attempt-log.ts";
import { EventFeed } from "../../packages/server/src/events/event-feed.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";

const policy = {
  allow: [{ host: "a.example.com", port: 443, protocol: "tls" as const }],
  deny: [{ host: "*.b.example" }],
};
const empty = { allow: [], deny: [] };

function attempt(id: string, more: Partial<EgressAttempt> = {}): EgressAttempt {
  return {
    ...{ id, sandboxId: "box", host: "a.example.com", port: 443, address: "192.0.2.1", verdict: "allowed" },
    ...{ rule: "a.example.com", layer: "sandbox", reason: null, approvalId: null, bytesUp: 0, bytesDown: 0 },
    ...{ startedAtMs: 1_000, durationMs: null },
    ...more,
  };
}

describe("the store of egress", () => {
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

  it("has policies as they were put in last, also after it was closed", async () => {
    await store.policies.putNamespace("team", { ...empty, agentsMayAllow: [] });
    await store.policies.putNamespace("team", { ...policy, unknown: "ask", agentsMayAllow: policy.allow });
    await store.policies.putSandbox("box", { sandbox: empty, approval: empty });
    await store.policies.putSandbox("box", { sandbox: policy, approval: empty });
    await store.policies.putSandbox("gone", { sandbox: policy, approval: policy });
    await store.policies.deleteSandbox("gone");
    await store[Symbol.asyncDispose]();
    store = await open();
    const kept = { ...policy, unknown: "ask", agentsMayAllow: policy.allow };
    expect(await store.policies.namespaces()).toEqual([{ namespace: "team", policy: kept }]);
    expect(await store.policies.sandboxes()).toEqual([{ sandboxId: "box", sandbox: policy, approval: empty }]);
  });

  it("lists attempts newest first, page by page, by namespace, sandbox and verdict", async () => {
    for (let at = 0; at < 6; at++)
      await store.attempts.insert("team", attempt(`t${at}`, at === 3 ? { verdict: "denied", durationMs: 0 } : {}));
    await store.attempts.insert("team", attempt("elsewhere", { sandboxId: "other" }));
    await store.attempts.insert("others", attempt("others"));
    const ids = async (query: object) =>
      (await store.attempts.list({ namespace: "team", limit: 100, ...query })).map(({ id }) => id);
    expect(await ids({})).toEqual(["elsewhere", "t5", "t4", "t3", "t2", "t1", "t0"]);
    expect(await ids({ sandboxId: "other" })).toEqual(["elsewhere"]);
    expect(await ids({ verdict: "denied" })).toEqual(["t3"]);
    const page = await store.attempts.list({ namespace: "team", sandboxId: "box", limit: 2 });
    expect(await ids({ sandboxId: "box", limit: 2, before: page[1]?.sequence })).toEqual(["t3", "t2"]);
    expect(page[0]).toEqual({ ...attempt("t5"), namespace: "team", sequence: page[0]?.sequence });
  });

  it("has the totals of an attempt once it has ended, and ends those that a crash left open", async () => {
    await store.attempts.insert("team", attempt("one"));
    await store.attempts.insert("team", attempt("two"));
    await store.attempts.settle("one", { bytesUp: 5, bytesDown: 2 ** 40, durationMs: 17, reason: "cut" });
    await store.attempts.closeOpen("the daemon ended");
    expect(await store.attempts.list({ namespace: "team", limit: 9 })).toMatchObject([
      { id: "two", durationMs: 0, reason: "the daemon ended", bytesUp: 0 },
      { id: "one", durationMs: 17, reason: "cut", bytesUp: 5, bytesDown: 2 ** 40 },
    ]);
  });

  it("keeps the newest attempts of a namespace, and all of another", async () => {
    for (let at = 0; at < 5; at++) await store.attempts.insert("team", attempt(`t${at}`));
    await store.attempts.insert("others", attempt("other"));
    await store.attempts.prune("team", 2);
    await store.attempts.prune("others", 2);
    const left = await store.attempts.list({ namespace: "team", limit: 9 });
    expect(left.map(({ id }) => id)).toEqual(["t4", "t3"]);
    expect(await store.attempts.list({ namespace: "others", limit: 9 })).toHaveLength(1);
  });

  describe("and its log of attempts", () => {
    const waited: number[] = [];
    const news: FeedNews[] = [];
    const errors: unknown[] = [];
    let nowMs = 0;
    const openLog = () => {
      for (const list of [waited, news, errors]) list.length = 0;
      using source = new EventFeed();
      return AttemptLog.open({
        records: store.attempts,
        audit: store.audit,
        feed: {
          publish: (one) => {
            news.push(one);
            return source.publish(one);
          },
        },
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
      expect(news).toMatchObject([{ type: "egress.denied", namespace: "team", sandboxId: "box", data: { port: 443 } }]);
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
});
