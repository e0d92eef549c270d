import { describe, expect, it } from "vitest";
import type { AuditEntry, AuditRow } from "../core/audit.ts";
import type { Batch } from "../core/batch.ts";
import type { EventReader, JournalEvent, LagEvent, News } from "../core/journal.ts";
import { journalLimits } from "./limits.ts";
import { StoredJournal } from "./stored-journal.ts";

const live = (namespace = "default"): News => ({
  type: "queue.backpressure",
  by: "system",
  namespace,
  data: { waiting: 1 },
});
const kept = (namespace = "default"): News => ({ type: "disk.low", by: "system", namespace, data: {} });
const stored = (namespace = "default", sandboxId = "one"): News => ({
  type: "sandbox.reset",
  by: "system",
  namespace,
  sandboxId,
  data: { workspace: "empty" },
});
const logged = (namespace = "default"): News => ({
  type: "gc.started",
  by: "system",
  namespace,
  data: { trigger: "asked" },
});

/** Rows in memory, in the order of their commits. */
class Rows {
  rows: AuditRow[] = [];
  #last = 0;
  readonly onError = (error: unknown): never => {
    throw error;
  };
  /** Commits wait for it. */
  gate: Promise<unknown> = Promise.resolve();

  append(entry: AuditEntry): AuditRow {
    const sequence = this.rows.filter(({ namespace }) => namespace === entry.namespace).length + 1;
    const row = { ...entry, runId: entry.runId ?? null, position: ++this.#last, sequence, atMs: 0, hash: "" };
    this.rows.push(row);
    return row;
  }

  readonly batch = (): Batch => {
    const entries: AuditEntry[] = [];
    return {
      record: (entry) => void entries.push(entry),
      commit: async () => {
        await this.gate;
        return entries.map((entry) => this.append(entry));
      },
    };
  };

  readonly audit = {
    bytes: () => 0,
    shrink: async () => 0,
    search: async ({
      namespace,
      after,
      before = Number.MAX_SAFE_INTEGER,
      limit = 100,
    }: Parameters<StoredSearch>[0]) => {
      const own = this.rows.filter((row) => namespace === undefined || row.namespace === namespace);
      if (after !== undefined) return own.filter(({ position }) => position > after).slice(0, limit);
      return own
        .filter(({ position }) => position < before)
        .reverse()
        .slice(0, limit);
    },
  };
}
type StoredSearch = (query: { namespace?: string; after?: number; before?: number; limit?: number }) => unknown;

async function take(reader: EventReader, count: number): Promise<(JournalEvent | LagEvent)[]> {
  const found = [];
  while (found.length < count) {
    const { done, value } = await reader.next();
    if (done) break;
    found.push(value);
  }
  return found;
}

const ids = (events: (JournalEvent | LagEvent)[]) => events.map(({ id }) => id);

async function many(journal: StoredJournal, count: number, news: News): Promise<void> {
  for (let i = 0; i < count; i++) await journal.record(news);
}

describe("the journal of a daemon", () => {
  it("[EVT-01] returns a reader of one namespace nothing of another's", async () => {
    await using journal = await StoredJournal.open(new Rows());
    using reader = journal.read({ namespace: "mine" });
    await journal.record(stored("theirs"));
    await journal.record(stored("mine"));
    expect(await take(reader, 1)).toMatchObject([{ namespace: "mine", id: 2, data: { workspace: "empty" } }]);
  });

  it("[S103] returns an event after it is stored, and none that could not be", async () => {
    const rows = new Rows();
    await using journal = await StoredJournal.open(rows);
    using reader = journal.read();
    rows.gate = Promise.reject(new Error("no room"));
    await expect(journal.record(stored("lost"))).rejects.toThrow("no room");
    const { promise, resolve } = Promise.withResolvers<void>();
    rows.gate = promise;
    const recorded = journal.record(stored("held"));
    let heard = false;
    const first = reader.next().then((result) => {
      heard = true;
      return result;
    });
    await new Promise(setImmediate);
    expect(heard).toBe(false);
    resolve();
    await recorded;
    expect(await first).toMatchObject({ value: { namespace: "held", id: 1 } });
  });

  it("[S103] changes records in the transaction of their event, and neither when one of them fails", async () => {
    const rows = new Rows();
    await using journal = await StoredJournal.open(rows);
    const order: string[] = [];
    const batch = rows.batch();
    await using spied = await StoredJournal.open({
      audit: rows.audit,
      onError: rows.onError,
      batch: () => ({
        record: (entry) => void order.push(entry.type),
        commit: async () => {
          order.push("commit");
          return batch.commit();
        },
      }),
    });
    await spied.record(stored(), () => void order.push("facts"));
    expect(order).toEqual(["sandbox.reset", "facts", "commit"]);
    await expect(
      journal.record(stored(), () => {
        throw new Error("a record was changed meanwhile");
      }),
    ).rejects.toThrow("meanwhile");
    expect(rows.rows).toEqual([]);
  });

  it("[EVT-01] goes on with its ids after a restart, and a reader that comes back misses nothing", async () => {
    const rows = new Rows();
    {
      await using journal = await StoredJournal.open(rows);
      await many(journal, 3, stored());
    }
    {
      await using journal = await StoredJournal.open(rows);
      await journal.record(logged());
      await many(journal, 60, stored());
    }
    await using journal = await StoredJournal.open(rows);
    using reader = journal.read({ namespace: "default" }, 2);
    await journal.record(stored());
    const found = ids(await take(reader, 62));
    expect(found).toEqual([3, ...Array.from({ length: 61 }, (_, at) => at + 5)]);
  });

  it("returns what is not stored to those who listen, without an id", async () => {
    await using journal = await StoredJournal.open(new Rows());
    using reader = journal.read();
    await journal.record(live());
    await journal.record(stored());
    expect(ids(await take(reader, 2))).toEqual([null, 1]);
  });

  it("reads rows from the store that came to it on another way", async () => {
    const rows = new Rows();
    await using journal = await StoredJournal.open(rows);
    using reader = journal.read();
    rows.append({ type: "sandbox.changed", namespace: "n", actor: "a", sandboxId: "s", requestId: null, detail: {} });
    await journal.record(stored());
    expect(await take(reader, 2)).toMatchObject([
      { id: 1, type: "sandbox.changed" },
      { id: 2, type: "sandbox.reset" },
    ]);
  });

  it("[EVT-01] says how many events are missing where retention has removed them", async () => {
    const rows = new Rows();
    {
      await using journal = await StoredJournal.open(rows);
      await many(journal, 5, stored());
      await many(journal, 5, stored("other"));
    }
    rows.rows = rows.rows.slice(3);
    await using journal = await StoredJournal.open(rows);
    using all = journal.read({}, 1);
    expect(await take(all, 2)).toMatchObject([{ type: "events.lag", dropped: 2, id: 3 }, { id: 4 }]);
    using own = journal.read({ namespace: "default" }, 1);
    expect(await take(own, 2)).toMatchObject([{ type: "events.lag", dropped: 2, id: 3 }, { id: 4 }]);
    using others = journal.read({ namespace: "other" }, 1);
    expect(ids(await take(others, 5))).toEqual([6, 7, 8, 9, 10]);
  });

  it("[EVT-01] says how many events a slow reader has missed, and goes on with the oldest there is", async () => {
    await using journal = await StoredJournal.open(new Rows());
    using reader = journal.read();
    await many(journal, journalLimits.recent + 10, kept());
    const [lag, next] = await take(reader, 2);
    expect(lag).toMatchObject({ type: "events.lag", dropped: 10 });
    expect(next).toMatchObject({ type: "disk.low" });
  });

  it("wakes a reader that waits, and ends it when it is disposed of", async () => {
    await using journal = await StoredJournal.open(new Rows());
    const reader = journal.read();
    const waiting = reader.next();
    await journal.record(stored());
    expect(await waiting).toMatchObject({ done: false, value: { id: 1 } });
    const last = reader.next();
    reader[Symbol.dispose]();
    expect(await last).toMatchObject({ done: true });
  });

  it("refuses more readers than its limit, and admits one when another has gone", async () => {
    await using journal = await StoredJournal.open(new Rows());
    const readers = Array.from({ length: journalLimits.readers }, () => journal.read());
    expect(() => journal.read()).toThrow(/too many/);
    readers[0]?.[Symbol.dispose]();
    readers[0]?.[Symbol.dispose]();
    journal.read();
    expect(() => journal.read()).toThrow(/too many/);
  });

  it("[EVT-01] refuses more readers of the store than its limit, until one of them has caught up", async () => {
    const rows = new Rows();
    {
      await using journal = await StoredJournal.open(rows);
      await many(journal, 2, stored());
    }
    await using journal = await StoredJournal.open(rows);
    const readers = Array.from({ length: journalLimits.catchingUp }, () => journal.read({}, 0));
    expect(() => journal.read({}, 0)).toThrow(/older events/);
    journal.read()[Symbol.dispose]();
    const waiting = readers[0] ? take(readers[0], 3) : undefined;
    await new Promise((done) => setTimeout(done, 50));
    journal.read({}, 0);
    readers[0]?.[Symbol.dispose]();
    expect(ids((await waiting) ?? [])).toEqual([1, 2]);
  });

  it("ends readers with what is there when it closes", async () => {
    const journal = await StoredJournal.open(new Rows());
    const reader = journal.read();
    await journal.record(stored());
    await journal[Symbol.asyncDispose]();
    expect(ids(await take(reader, 9))).toEqual([1]);
  });
});
