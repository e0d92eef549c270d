import { mkdtemp, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import type { Store } from "../../packages/server/src/store/store.ts";
import { auditEntry, sandboxRecord } from "./entries.ts";

const walBytes = 4 << 20;
let folder: string;
let store: Store;

beforeEach(async () => {
  folder = await mkdtemp("/var/tmp/caisson-load-");
  store = await openStore({ path: join(folder, "caisson.db"), walBytes });
});
afterEach(async () => {
  await store[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** So many at a time, each with its number in the order of the calls. */
async function each(count: number, concurrency: number, act: (number: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
}

function spyOnMessages() {
  const posted = vi.spyOn(Worker.prototype, "postMessage");
  onTestFinished(() => posted.mockRestore());
  return posted;
}

describe("a store under load", () => {
  it("[AUD-01] keeps 10,000 entries of 64 callers in the order of their calls, in one chain", async () => {
    await store.sandboxes.insert(sandboxRecord("one"));
    await each(10_000, 64, async (number) => {
      await store.audit.record(auditEntry({ detail: { number } }));
      if (number % 100 === 0) await store.sandboxes.update("one", { lastUsedAtMs: number });
    });
    expect(await store.audit.verify()).toMatchObject({ ok: true, rows: 10_000, problems: [] });
    const numbers: unknown[] = [];
    for (let after = 0; after < 10_000; after += 1_000) {
      const rows = await store.audit.search({ after, limit: 1_000 });
      numbers.push(...rows.map(({ detail }) => detail.number));
    }
    expect(numbers).toEqual(Array.from({ length: 10_000 }, (_, number) => number));
  });

  it("takes a record and the entry about it, asked at once, in one message and so in one commit", async () => {
    const posted = spyOnMessages();
    await Promise.resolve(); // as ever, the caller goes on after a wait
    await Promise.all([store.sandboxes.insert(sandboxRecord("one")), store.audit.record(auditEntry())]);
    expect(posted.mock.calls.map(([requests]) => requests.length)).toContain(2);
  });

  it("turns its log over, and loses nothing by it", async () => {
    const text = "x".repeat(15_000);
    let largest = 0;
    let rows = 0;
    // A quarter of a megabyte at a time: the log grows, until it is seen to have shrunk.
    for (;;) {
      await each(16, 16, (number) => store.audit.record(auditEntry({ detail: { number, text } })));
      rows += 16;
      const { size } = await stat(join(folder, "caisson.db-wal"));
      expect(size).toBeLessThan(2 * walBytes);
      if (size < largest) break;
      largest = size;
    }
    expect(await store.audit.verify()).toMatchObject({ ok: true, rows });
  });

  it("lets appends go on while it verifies", async () => {
    await each(3_000, 64, () => store.audit.record(auditEntry()));
    const verdict = store.audit.verify();
    await each(500, 8, () => store.audit.record(auditEntry()));
    expect(await verdict).toMatchObject({ ok: true });
  });
});
