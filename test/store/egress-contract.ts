import { describe, expect, it } from "vitest";
import type { EgressAttempt } from "../../packages/server/src/core/egress.ts";
import type { RecordStore } from "../../packages/server/src/store/store.ts";

const policy = {
  allow: [{ host: "a.example.com", port: 443, protocol: "tls" as const }],
  deny: [{ host: "*.b.example" }],
};
const empty = { allow: [], deny: [] };

export function attempt(id: string, more: Partial<EgressAttempt> = {}): EgressAttempt {
  return {
    ...{ id, sandboxId: "box", host: "a.example.com", port: 443, address: "192.0.2.1", verdict: "allowed" },
    ...{ rule: "a.example.com", layer: "sandbox", reason: null, approvalId: null, bytesUp: 0, bytesDown: 0 },
    ...{ startedAtMs: 1_000, durationMs: null },
    ...more,
  };
}

/** What the records of egress do, in every store. */
export function egressContract(name: string, store: () => RecordStore, reopen: () => Promise<void>): void {
  describe(`${name}: egress`, () => {
    it("has policies as they were put in last, also after it was closed", async () => {
      await store().policies.putNamespace("team", { ...empty, agentsMayAllow: [] });
      await store().policies.putNamespace("team", { ...policy, unknown: "ask", agentsMayAllow: policy.allow });
      await store().policies.putSandbox("box", { sandbox: empty, approval: empty });
      await store().policies.putSandbox("box", { sandbox: policy, approval: empty });
      await store().policies.putSandbox("gone", { sandbox: policy, approval: policy });
      await store().policies.deleteSandbox("gone");
      await reopen();
      const kept = { ...policy, unknown: "ask", agentsMayAllow: policy.allow };
      expect(await store().policies.namespaces()).toEqual([{ namespace: "team", policy: kept }]);
      expect(await store().policies.sandboxes()).toEqual([{ sandboxId: "box", sandbox: policy, approval: empty }]);
    });

    it("lists attempts newest first, page by page, by namespace, sandbox and verdict", async () => {
      for (let at = 0; at < 6; at++)
        await store().attempts.insert("team", attempt(`t${at}`, at === 3 ? { verdict: "denied", durationMs: 0 } : {}));
      await store().attempts.insert("team", attempt("elsewhere", { sandboxId: "other" }));
      await store().attempts.insert("others", attempt("others"));
      const ids = async (query: object) =>
        (await store().attempts.list({ namespace: "team", limit: 100, ...query })).map(({ id }) => id);
      expect(await ids({})).toEqual(["elsewhere", "t5", "t4", "t3", "t2", "t1", "t0"]);
      expect(await ids({ sandboxId: "other" })).toEqual(["elsewhere"]);
      expect(await ids({ verdict: "denied" })).toEqual(["t3"]);
      const page = await store().attempts.list({ namespace: "team", sandboxId: "box", limit: 2 });
      expect(await ids({ sandboxId: "box", limit: 2, before: page[1]?.sequence })).toEqual(["t3", "t2"]);
      expect(page[0]).toEqual({ ...attempt("t5"), namespace: "team", sequence: page[0]?.sequence });
    });

    it("lists attempts that started in a time, its ends included", async () => {
      for (const at of [1, 2, 3, 4]) await store().attempts.insert("team", attempt(`t${at}`, { startedAtMs: at }));
      const ids = async (query: object) =>
        (await store().attempts.list({ namespace: "team", limit: 100, ...query })).map(({ id }) => id);
      expect(await ids({ fromMs: 2, toMs: 3 })).toEqual(["t3", "t2"]);
      expect(await ids({ fromMs: 3 })).toEqual(["t4", "t3"]);
      expect(await ids({ toMs: 1 })).toEqual(["t1"]);
    });

    it("has the totals of an attempt once it has ended, and ends those that a crash left open", async () => {
      await store().attempts.insert("team", attempt("one"));
      await store().attempts.insert("team", attempt("two"));
      await store().attempts.settle("one", { bytesUp: 5, bytesDown: 2 ** 40, durationMs: 17, reason: "cut" });
      await store().attempts.closeOpen("the daemon ended");
      expect(await store().attempts.list({ namespace: "team", limit: 9 })).toMatchObject([
        { id: "two", durationMs: 0, reason: "the daemon ended", bytesUp: 0 },
        { id: "one", durationMs: 17, reason: "cut", bytesUp: 5, bytesDown: 2 ** 40 },
      ]);
    });

    it("keeps the newest attempts of a namespace, and all of another", async () => {
      for (let at = 0; at < 5; at++) await store().attempts.insert("team", attempt(`t${at}`));
      await store().attempts.insert("others", attempt("other"));
      await store().attempts.prune("team", 2);
      await store().attempts.prune("others", 2);
      const left = await store().attempts.list({ namespace: "team", limit: 9 });
      expect(left.map(({ id }) => id)).toEqual(["t4", "t3"]);
      expect(await store().attempts.list({ namespace: "others", limit: 9 })).toHaveLength(1);
    });
  });
}
