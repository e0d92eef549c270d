import { describe, expect, it } from "vitest";
import { type Approval, approvalScopes } from "../../packages/server/src/core/approval.ts";
import type { RecordStore } from "../../packages/server/src/store/store.ts";

function approval(id: string, more: Partial<Approval> = {}): Approval {
  return {
    ...{
      id,
      kind: "command",
      namespace: "team",
      sandboxId: "box",
      runId: null,
      subject: "make",
      text: null,
      digest: "d",
    },
    ...{ detail: {}, state: "pending", createdAtMs: 1_000, expiresAtMs: 2_000, scope: null, reason: null, asked: 1 },
    ...{ askedBy: null, decidedBy: null, decidedAtMs: null, usedAtMs: null, revokedAtMs: null },
    ...more,
  };
}

const decided = (id: string, state: "approved" | "denied", scope: Approval["scope"], more: Partial<Approval> = {}) =>
  approval(id, { state, scope, decidedAtMs: 1_500, decidedBy: "key", ...more });

/** What the records of approvals do, in every store. */
export function approvalContract(name: string, store: () => RecordStore, reopen: () => Promise<void>): void {
  describe(`${name}: approvals`, () => {
    const asked = { namespace: "team", kind: "command", sandboxId: "box", digest: "d" } as const;
    const standing = async (more: object = {}, sinceMs = 0, scopes = approvalScopes as readonly Approval["scope"][]) =>
      (await store().approvals.standing({ ...asked, ...more }, scopes as typeof approvalScopes, sinceMs))?.id;

    it("come back as they were put in and changed, also after the store was closed", async () => {
      const one = approval("one", { text: "make\nall", detail: { ü: "\u{1f600}", n: 1, no: false, none: null } });
      await store().approvals.insert(one);
      await store().approvals.update("one", { state: "denied", scope: "always", reason: "no", asked: 7 });
      await reopen();
      const after = { ...one, state: "denied", scope: "always", reason: "no", asked: 7 };
      expect(await store().approvals.get("one")).toEqual(after);
      expect(await store().approvals.get("two")).toBeUndefined();
    });

    it("are listed newest first, page by page, by namespace, state, kind, sandbox and run", async () => {
      for (let at = 0; at < 5; at++)
        await store().approvals.insert(approval(`a${at}`, { createdAtMs: 1_000 + Math.floor(at / 2) }));
      await store().approvals.insert(
        decided("done", "denied", "once", { kind: "egress", sandboxId: null, runId: "run", createdAtMs: 9 }),
      );
      await store().approvals.insert(approval("theirs", { namespace: "other" }));
      const ids = async (query: object) =>
        (await store().approvals.list({ namespace: "team", limit: 100, ...query })).map(({ id }) => id);
      expect(await ids({})).toEqual(["a4", "a3", "a2", "a1", "a0", "done"]);
      expect(await ids({ limit: 2, cursor: "a3" })).toEqual(["a2", "a1"]);
      expect(await ids({ state: "denied" })).toEqual(["done"]);
      expect(await ids({ kind: "egress" })).toEqual(["done"]);
      expect(await ids({ runId: "run" })).toEqual(["done"]);
      expect(await ids({ runId: "none" })).toEqual([]);
      expect(await ids({ sandboxId: "box", limit: 1 })).toEqual(["a4"]);
      await expect(ids({ cursor: "theirs" })).rejects.toMatchObject({ code: "not_found" });
      expect((await store().approvals.pending()).map(({ id }) => id).sort()).toEqual([
        "a0",
        "a1",
        "a2",
        "a3",
        "a4",
        "theirs",
      ]);
    });

    it("stand for the same question, a no before a yes, and the widest first", async () => {
      expect(await standing()).toBeUndefined();
      await store().approvals.insert(decided("once", "approved", "once"));
      expect(await standing()).toBe("once");
      await store().approvals.insert(decided("box", "approved", "sandbox"));
      expect(await standing()).toBe("box");
      await store().approvals.insert(decided("always", "approved", "always", { sandboxId: "other" }));
      expect(await standing()).toBe("always");
      expect(await standing({}, 0, ["once"])).toBe("once");
      await store().approvals.insert(decided("never", "denied", "sandbox"));
      expect(await standing()).toBe("never");
      expect(await standing({ sandboxId: "other" })).toBe("always");
      expect(await standing({ sandboxId: null })).toBe("always");
      for (const more of [{ namespace: "other" }, { kind: "host" }, { digest: "e" }])
        expect(await standing(more)).toBeUndefined();
      expect(await store().approvals.countStanding("team", "command")).toBe(3);
      await store().approvals.forget("box", 3_000);
      expect(await standing()).toBe("always");
      await store().approvals.update("always", { revokedAtMs: 3_000 });
      expect(await standing()).toBe("once");
      expect(await store().approvals.countStanding("team", "command")).toBe(0);
    });

    it("are used once, in time, and not when they are revoked or denied", async () => {
      await store().approvals.insert(decided("no", "denied", "once"));
      await store().approvals.insert(decided("late", "approved", "once"));
      expect(await standing({}, 1_501)).toBeUndefined();
      expect(await standing({}, 1_500)).toBe("late");
      const uses = await Promise.all(Array.from({ length: 5 }, () => store().approvals.use("late", 4_000)));
      expect(uses.filter(Boolean).length).toBe(1);
      expect(await standing()).toBeUndefined();
      await store().approvals.insert(decided("back", "approved", "once", { revokedAtMs: 1_600 }));
      expect(await standing()).toBeUndefined();
      expect(await store().approvals.use("back", 4_000)).toBe(false);
    });

    it("go when they are old, but for those that are pending or hold", async () => {
      const rows = [
        approval("pending"),
        decided("holds", "approved", "always"),
        decided("revoked", "approved", "always", { revokedAtMs: 2_000 }),
        decided("once", "approved", "once"),
        approval("expired", { state: "expired" }),
        decided("young", "denied", "once", { createdAtMs: 5_000 }),
      ];
      for (const row of rows) await store().approvals.insert(row);
      await store().approvals.prune(5_000, 100);
      const left = await store().approvals.list({ namespace: "team", limit: 100 });
      expect(left.map(({ id }) => id).sort()).toEqual(["holds", "pending", "young"]);
      for (let at = 0; at < 5; at++)
        await store().approvals.insert(approval(`n${at}`, { state: "expired", createdAtMs: 6_000 + at }));
      await store().approvals.insert(approval("theirs", { namespace: "other", state: "expired" }));
      await store().approvals.prune(0, 2);
      const newest = await store().approvals.list({ namespace: "team", limit: 100 });
      expect(newest.map(({ id }) => id).sort()).toEqual(["holds", "n3", "n4", "pending"]);
      expect(await store().approvals.get("theirs")).toBeDefined();
    });
  });
}
