import { describe, expect, it } from "vitest";
import type { CheckpointRecord, KeptCheckpoint } from "../../packages/server/src/core/checkpoint.ts";
import type { RecordStore } from "../../packages/server/src/store/store.ts";
import { sandboxRecord } from "./entries.ts";

function shown(id: string, more: Partial<CheckpointRecord> = {}): CheckpointRecord {
  return {
    ...{ id, namespace: "default", sandboxId: "box-1", name: "", engine: "gvisor", memoryBytes: 3 * 1024 ** 3 },
    ...{ createdAtMs: 1_000, createdBy: "key-1", ...more },
  };
}

function kept(id: string, more: Partial<CheckpointRecord> = {}): KeptCheckpoint {
  const policy = { rules: [], unknown: "ask" } as unknown as KeptCheckpoint["policy"];
  return {
    ...shown(id, more),
    keyName: `key of ${id}`,
    sandbox: sandboxRecord("box-1"),
    policy,
    contexts: '["\\u0000"]',
  };
}

/** What the records of checkpoints do, in every store. */
export function checkpointContract(name: string, store: () => RecordStore, reopen: () => Promise<void>): void {
  describe(`${name}: checkpoints`, () => {
    it("come back as they were put in, with all that going on from one needs, until they are deleted", async () => {
      const whole = kept("one", { name: "ü\n\u{1f600}" });
      await store().checkpoints.insert(whole);
      await store().checkpoints.insert({ ...kept("two"), policy: null });
      await reopen();
      const { checkpoints } = store();
      expect(await checkpoints.get("one")).toEqual(whole);
      expect((await checkpoints.get("two"))?.policy).toBeNull();
      expect(await checkpoints.names()).toEqual(
        expect.arrayContaining(["one", "two"].map((id) => ({ id, keyName: `key of ${id}` }))),
      );
      for (const id of ["one", "never"]) await checkpoints.delete(id);
      expect(await checkpoints.get("one")).toBeUndefined();
      expect((await checkpoints.names()).map(({ id }) => id)).toEqual(["two"]);
    });

    it("are listed in pages, newest first, namespace by namespace, without what is large", async () => {
      const { checkpoints } = store();
      const own = ["a", "b", "c", "d"].map((id, at) => shown(id, { createdAtMs: 1_000 + (at >> 1), memoryBytes: at }));
      for (const record of own) await checkpoints.insert({ ...kept(record.id), ...record });
      await checkpoints.insert(kept("other", { namespace: "other", sandboxId: "box-2" }));
      const [a, b, c, d] = own;
      expect(await checkpoints.list({ namespace: "default", limit: 3 })).toEqual([d, c, b]);
      expect(await checkpoints.list({ namespace: "default", limit: 3, cursor: "b" })).toEqual([a]);
      expect(await checkpoints.list({ namespace: "default", limit: 3, sandboxId: "box-2" })).toEqual([]);
      for (const cursor of ["other", "never"])
        await expect(checkpoints.list({ namespace: "default", limit: 3, cursor })).rejects.toMatchObject({
          code: "not_found",
        });
      expect([await checkpoints.count("default"), await checkpoints.count("nobody's")]).toEqual([4, 0]);
      const { items, bytes, largest } = await checkpoints.sizes(2);
      expect([items, bytes]).toEqual([5, 3 * 1024 ** 3 + 6]);
      expect(largest.map(({ id }) => id)).toEqual(["other", "d"]);
    });
  });
}
