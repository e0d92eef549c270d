import { expect, it } from "vitest";
import type { Approval } from "../../packages/server/src/core/approval.ts";
import { storeLimits } from "../../packages/server/src/store/limits.ts";
import type { Store } from "../../packages/server/src/store/store.ts";
import { auditEntry, sandboxRecord } from "./entries.ts";

const approval: Approval = {
  id: "ap-1",
  kind: "command",
  namespace: "default",
  sandboxId: null,
  runId: null,
  subject: "ls",
  text: null,
  digest: "d",
  detail: {},
  state: "approved",
  createdAtMs: 1,
  expiresAtMs: 2,
  scope: "once",
  reason: null,
  askedBy: null,
  decidedBy: null,
  decidedAtMs: 1,
  usedAtMs: null,
  revokedAtMs: null,
  asked: 1,
};

/** Changes that are committed together or not at all. */
export function batchContract(store: () => Store): void {
  const types = async () => (await store().audit.search({ after: 0 })).map(({ type }) => type);

  it("commits changes of records and entries together, and says where the entries are", async () => {
    await store().audit.record(auditEntry());
    const batch = store().batch();
    await store().sandboxes.insert(sandboxRecord("one"), batch);
    batch.record(auditEntry({ type: "first" }));
    await store().sandboxes.update("one", { status: "paused" }, batch);
    batch.record(auditEntry({ type: "second" }));
    expect(await store().sandboxes.get("one")).toBeUndefined();
    expect(await types()).toEqual(["sandbox.created"]);
    expect(await batch.commit()).toMatchObject([
      { position: 2, sequence: 2 },
      { position: 3, sequence: 3 },
    ]);
    expect(await store().sandboxes.get("one")).toMatchObject({ status: "paused" });
    expect(await types()).toEqual(["sandbox.created", "first", "second"]);
    await expect(batch.commit()).rejects.toMatchObject({ code: "internal" });
    expect(await store().batch().commit()).toEqual([]);
  });

  const failures: [string, string, (batch: ReturnType<Store["batch"]>) => Promise<unknown>][] = [
    ["a record exists already", "conflict", (batch) => store().sandboxes.insert(sandboxRecord("one"), batch)],
    ["a record is gone", "not_found", (batch) => store().sandboxes.update("two", { status: "paused" }, batch)],
    ["a record is not as its change requires", "conflict", (batch) => store().approvals.use("ap-1", 9, batch)],
    [
      "an entry cannot be kept",
      "too_large",
      async (batch) => batch.record(auditEntry({ detail: { text: "é".repeat(10_000).split("") } })),
    ],
  ];
  it.each(failures)("changes nothing when %s (%s), and fails nothing beside it", async (_what, code, fail) => {
    await store().sandboxes.insert(sandboxRecord("one"));
    await store().approvals.insert(approval);
    expect(await store().approvals.use("ap-1", 5)).toBe(true);
    const before = store().audit.record(auditEntry({ type: "before" }));
    const batch = store().batch();
    await store().sandboxes.insert(sandboxRecord("three"), batch);
    batch.record(auditEntry({ type: "lost" }));
    await fail(batch);
    batch.record(auditEntry({ type: "lost" }));
    const failing = batch.commit();
    const after = store().audit.record(auditEntry({ type: "after" }));
    await expect(failing).rejects.toMatchObject({ code });
    expect(await before).toMatchObject({ position: 1, sequence: 1 });
    expect(await after).toMatchObject({ position: 2, sequence: 2 });
    expect(await store().sandboxes.get("three")).toBeUndefined();
    expect(await types()).toEqual(["before", "after"]);
    expect(await store().audit.verify()).toMatchObject({ ok: true });
  });

  it("changes nothing before it is committed, and holds so many steps", async () => {
    const batch = store().batch();
    for (let step = 0; step < storeLimits.batch; step++) batch.record(auditEntry());
    expect(() => batch.record(auditEntry())).toThrow(expect.objectContaining({ code: "too_large" }));
    expect(await types()).toEqual([]);
  });
}
