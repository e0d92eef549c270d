import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Store } from "../../packages/server/src/store/store.ts";
import { batchContract } from "./batch-contract.ts";
import { auditEntry } from "./entries.ts";
import { recordContract, type StoreUnderTest } from "./record-contract.ts";

/** What every store does, whatever it is made of. */
export function storeContract(name: string, make: () => Promise<StoreUnderTest>): void {
  recordContract(name, make);
  describe(name, () => auditContract(name, make));
}

function auditContract(name: string, make: () => Promise<StoreUnderTest>): void {
  let under: StoreUnderTest;
  let store: Store;
  beforeEach(async () => {
    under = await make();
    store = await under.open();
  });
  afterEach(async () => {
    await store[Symbol.asyncDispose]();
    await under[Symbol.asyncDispose]();
  });
  const reopen = async () => {
    await store[Symbol.asyncDispose]();
    store = await under.open();
  };

  describe(`${name}: a batch`, () => batchContract(() => store));

  describe(`${name}: audit`, () => {
    it("keeps entries in the order they came in", async () => {
      await Promise.all(Array.from({ length: 50 }, (_, at) => store.audit.record(auditEntry({ detail: { at } }))));
      const rows = await store.audit.search({ after: 0 });
      expect(rows.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 50 }, (_, at) => at + 1));
      expect(rows.map(({ detail }) => detail.at)).toEqual(Array.from({ length: 50 }, (_, at) => at));
      await reopen();
      await store.audit.record(auditEntry());
      expect((await store.audit.search({ limit: 1 }))[0]).toMatchObject({ sequence: 51 });
    });

    it("is searched by time, actor, sandbox, type, namespace and text", async () => {
      await store.audit.record(auditEntry({ actor: "ann", sandboxId: "s1", detail: { path: 'a "b" 100%_\\' } }));
      await store.audit.record(auditEntry({ type: "file.written", actor: "bob", sandboxId: "s1" }));
      await store.audit.record(auditEntry({ namespace: "other", sandboxId: "s2", detail: { Note: "Straße" } }));
      const found = async (query: object) => (await store.audit.search(query)).map(({ position }) => position);
      expect(await found({})).toEqual([3, 2, 1]);
      expect(await found({ actor: "ann" })).toEqual([1]);
      expect(await found({ sandboxId: "s1" })).toEqual([2, 1]);
      expect(await found({ type: "file.written" })).toEqual([2]);
      expect(await found({ namespace: "other" })).toEqual([3]);
      expect(await found({ text: "FILE.W" })).toEqual([2]);
      expect(await found({ text: '"B" 100%_\\' })).toEqual([1]);
      expect(await found({ text: "100%x" })).toEqual([]);
      expect(await found({ text: "straße" })).toEqual([3]);
      const { nowMs } = under.clock;
      under.clock.nowMs += 10;
      await store.audit.record(auditEntry());
      expect(await found({ fromMs: nowMs + 1 })).toEqual([4]);
      expect(await found({ fromMs: nowMs, toMs: nowMs + 10 })).toEqual([3, 2, 1]);
    });

    it("is read page by page, in both directions", async () => {
      for (let at = 1; at <= 5; at++) await store.audit.record(auditEntry({ actor: at === 3 ? "x" : "y" }));
      const found = async (query: object) => (await store.audit.search(query)).map(({ position }) => position);
      expect(await found({ actor: "y", limit: 2 })).toEqual([5, 4]);
      expect(await found({ actor: "y", limit: 2, before: 4 })).toEqual([2, 1]);
      expect(await found({ actor: "y", limit: 2, after: 0 })).toEqual([1, 2]);
      expect(await found({ actor: "y", limit: 2, after: 2 })).toEqual([4, 5]);
      expect(await found({ after: 5 })).toEqual([]);
    });

    it("refuses an entry that is too large or that JSON cannot say, and goes on", async () => {
      const large = store.audit.record(auditEntry({ detail: { text: "x".repeat(20_000) } }));
      const broken = store.audit.record(auditEntry({ detail: { number: Number.NaN } }));
      const good = store.audit.record(auditEntry({ detail: { number: 1 } }));
      await expect(large).rejects.toMatchObject({ code: "too_large" });
      await expect(broken).rejects.toMatchObject({ code: "invalid" });
      await good;
      expect(await store.audit.search({})).toMatchObject([{ sequence: 1, detail: { number: 1 } }]);
    });

    it("[AUD-04] forgets what is older than a time, and verifies as before", async () => {
      const startMs = under.clock.nowMs;
      for (let at = 0; at < 10; at++) {
        await store.audit.record(auditEntry({ detail: { at } }));
        under.clock.nowMs += 1_000;
      }
      expect(await store.audit.prune(() => startMs)).toBe(0);
      expect(await store.audit.prune(() => startMs + 3_500)).toBe(4);
      const check = async () => {
        expect((await store.audit.search({ after: 0, limit: 1 }))[0]).toMatchObject({ sequence: 5, detail: { at: 4 } });
        expect(await store.audit.verify()).toMatchObject({
          ok: true,
          chains: [{ pruned: 4, first: 5, rows: 7, last: 11 }],
        });
      };
      await check();
      await reopen();
      await check();
      expect((await store.audit.search({ limit: 1 }))[0]).toMatchObject({
        type: "audit.pruned",
        detail: { through: 4, rows: 4 },
      });
      expect(await store.audit.prune(() => startMs + 6_500)).toBe(3);
      expect(await store.audit.verify()).toMatchObject({ ok: true, chains: [{ pruned: 7, first: 8, last: 12 }] });
    });

    it("[AUD-04] goes on in the same chain when all of it was forgotten", async () => {
      for (let at = 0; at < 3; at++) await store.audit.record(auditEntry());
      under.clock.nowMs += 1_000;
      expect(await store.audit.prune(() => under.clock.nowMs)).toBe(3);
      await reopen();
      await store.audit.record(auditEntry());
      expect(await store.audit.verify()).toMatchObject({
        ok: true,
        chains: [{ pruned: 3, first: 4, last: 5, rows: 2 }],
      });
    });

    it("keeps an old row behind a newer one when the clock went back", async () => {
      await store.audit.record(auditEntry());
      under.clock.nowMs -= 5_000;
      await store.audit.record(auditEntry());
      expect(await store.audit.prune(() => under.clock.nowMs + 1_000)).toBe(0);
      expect(await store.audit.verify()).toMatchObject({ ok: true, rows: 2 });
    });
  });
}
