import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { JournalEvent, News } from "../../packages/server/src/core/journal.ts";
import type { Role } from "../../packages/server/src/core/scope.ts";
import { StoredJournal } from "../../packages/server/src/journal/stored-journal.ts";
import { auditLimits } from "../../packages/server/src/store/limits.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import type { Store } from "../../packages/server/src/store/store.ts";

const dayMs = 86_400_000;
const namespaceBytes = 100_000;
let folder: string;
let path: string;
let nowMs: number;
beforeEach(async () => {
  folder = await mkdtemp("/var/tmp/caisson-room-");
  path = join(folder, "caisson.db");
  nowMs = 100 * dayMs;
});
afterEach(() => rm(folder, { recursive: true }));

const clock = { wallMs: () => nowMs, monotonicMs: () => nowMs };

interface Daemon extends AsyncDisposable {
  store: Store;
  journal: StoredJournal;
  told: JournalEvent[];
  /** Types told of the namespace's size. */
  alarms(): string[];
}

async function open(limit = namespaceBytes): Promise<Daemon> {
  const store = await openStore({ path, clock });
  const told: JournalEvent[] = [];
  const journal = await StoredJournal.open({
    ...{ audit: store.audit, batch: () => store.batch(), clock, namespaceBytes: limit },
    onEvent: (event) => told.push(event),
    onError: (error) => {
      throw error;
    },
  });
  return {
    ...{ store, journal, told },
    alarms: () => told.map(({ type }) => type).filter((type) => type.startsWith("audit.")),
    [Symbol.asyncDispose]: async () => {
      await journal[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** A row of 1,000 bytes and more, of a type that is never counted. */
const row = (namespace: string): News => ({
  ...{ type: "sandbox.changed", by: "system", namespace, sandboxId: "one" },
  data: { what: "x".repeat(750) },
});

async function fill(journal: StoredJournal, rows: number, namespace = "crowded"): Promise<void> {
  for (let at = 0; at < rows; at++) await journal.record(row(namespace));
}

const work = (journal: StoredJournal, namespace: string, role?: Role) => () =>
  journal.requireRoom({ namespace, ...(role && { role }) });

/** As the rows themselves say. */
function countedBytes(namespace: string): number {
  const db = new DatabaseSync(path, { readOnly: true });
  const sum = "select coalesce(sum(length(cast(detail as blob)) + 250), 0) as bytes from audit where namespace = ?";
  const { bytes } = db.prepare(sum).get(namespace) as { bytes: number };
  db.close();
  return bytes;
}

describe("the size of a namespace's audit log", () => {
  it("[S108] is known exactly, also after a restart, a pruning, and a restart after that", async () => {
    const isExact = ({ store }: Daemon) => expect(store.audit.bytes("crowded")).toBe(countedBytes("crowded"));
    {
      await using daemon = await open();
      await fill(daemon.journal, 10);
      isExact(daemon);
      expect(daemon.store.audit.bytes("crowded")).toBeGreaterThan(10_000);
    }
    {
      await using daemon = await open();
      isExact(daemon);
      nowMs += dayMs;
      await fill(daemon.journal, 3);
      await daemon.store.audit.prune(() => nowMs);
      isExact(daemon);
      expect(await daemon.store.audit.search({ namespace: "crowded" })).toHaveLength(4);
    }
    await using daemon = await open();
    isExact(daemon);
    nowMs += dayMs;
    await daemon.store.audit.prune(() => nowMs + 1);
    isExact(daemon);
    expect(daemon.store.audit.bytes("none")).toBe(0);
  });

  it("[S108] is told once where it passes 80 %, and again after it was smaller", async () => {
    await using daemon = await open();
    await fill(daemon.journal, 76);
    expect(daemon.alarms()).toEqual([]);
    await fill(daemon.journal, 8);
    expect(daemon.alarms()).toEqual(["audit.filling"]);
    expect(daemon.told.at(-1)).not.toMatchObject({ type: "audit.full" });
    expect(daemon.told.find(({ type }) => type === "audit.filling")).toMatchObject({
      namespace: "crowded",
      data: { limit_bytes: namespaceBytes },
    });
    nowMs += dayMs;
    await daemon.store.audit.prune(() => nowMs);
    await fill(daemon.journal, 84);
    expect(daemon.alarms()).toEqual(["audit.filling", "audit.filling"]);
  });

  it("[S108] past its limit makes room of its own oldest rows, with a cut that verifies, and of nobody else's", async () => {
    await using daemon = await open();
    await fill(daemon.journal, 50, "quiet");
    await fill(daemon.journal, 60);
    const quiet = await daemon.store.audit.search({ namespace: "quiet", limit: 1_000 });
    nowMs += 2 * dayMs;
    await fill(daemon.journal, 60);
    await expect.poll(() => daemon.store.audit.bytes("crowded")).toBeLessThan(namespaceBytes);
    expect(await daemon.store.audit.search({ namespace: "quiet", limit: 1_000 })).toEqual(quiet);
    expect(daemon.alarms()).toEqual(["audit.filling"]);
    expect(work(daemon.journal, "crowded", "agent")).not.toThrow();
    await expect
      .poll(() => daemon.store.audit.search({ type: "audit.pruned" }))
      .toMatchObject([{ namespace: "crowded", detail: { reason: "size", before_ms: nowMs - dayMs } }]);
    const verdict = await daemon.store.audit.verify();
    expect(verdict).toMatchObject({ ok: true, problems: [] });
    expect(verdict.chains.find(({ namespace }) => namespace === "crowded")?.pruned).toBeGreaterThan(10);
    expect(verdict.chains.find(({ namespace }) => namespace === "quiet")).toMatchObject({ pruned: 0, rows: 50 });
  });

  it("[S108] never gives up rows of the last day: work is refused by the name of the setting, and others go on", async () => {
    await using daemon = await open();
    await fill(daemon.journal, 99);
    nowMs += auditLimits.leastAgeMs - 1;
    await fill(daemon.journal, 1);
    await expect.poll(daemon.alarms).toEqual(["audit.filling", "audit.full"]);
    expect((await daemon.store.audit.verify("crowded")).chains[0]?.pruned).toBe(0);
    for (const role of ["viewer", "agent", undefined] as const)
      expect(work(daemon.journal, "crowded", role), role).toThrow(
        expect.objectContaining({ code: "limit_exceeded", hint: expect.stringContaining("audit_namespace_mb") }),
      );
    for (const role of ["operator", "admin"] as const) expect(work(daemon.journal, "crowded", role)).not.toThrow();
    const limited = { namespace: "crowded", role: "operator", scopes: ["use"] } as const;
    expect(() => daemon.journal.requireRoom(limited)).toThrow(/is full/);
    expect(work(daemon.journal, "quiet", "agent")).not.toThrow();
    await daemon.journal.record({ ...row("crowded"), type: "sandbox.destroyed", data: {} } as News);
    expect(await daemon.store.audit.search({ type: "sandbox.destroyed" })).toHaveLength(1);
  });

  it("[S108] goes on by itself once rows are old enough", async () => {
    await using daemon = await open();
    await fill(daemon.journal, 105);
    await expect.poll(daemon.alarms).toContain("audit.full");
    expect(work(daemon.journal, "crowded", "agent")).toThrow(/is full/);
    nowMs += auditLimits.leastAgeMs + 1;
    await vi.waitFor(work(daemon.journal, "crowded", "agent"));
    await expect.poll(() => daemon.store.audit.bytes("crowded")).toBeLessThan(namespaceBytes);
    expect(await daemon.store.audit.verify()).toMatchObject({ ok: true });
  });

  it("[S108] is held to after a restart, and with a larger limit work goes on", async () => {
    {
      await using daemon = await open();
      await fill(daemon.journal, 105);
    }
    {
      await using daemon = await open();
      await fill(daemon.journal, 1);
      await expect.poll(daemon.alarms).toEqual(["audit.filling", "audit.full"]);
      expect(work(daemon.journal, "crowded", "agent")).toThrow(/is full/);
    }
    await using daemon = await open(10 * namespaceBytes);
    await fill(daemon.journal, 1);
    expect([daemon.alarms(), work(daemon.journal, "crowded", "agent")()]).toEqual([[], undefined]);
  });

  it("[S108] never refuses what the daemon itself does", async () => {
    await using daemon = await open();
    await fill(daemon.journal, 105, "system");
    await expect.poll(daemon.alarms).toContain("audit.full");
    expect(work(daemon.journal, "system", "agent")).not.toThrow();
  });

  it("[S108] does not let the database grow with what comes and goes", async () => {
    await using daemon = await open();
    const pagesAfter = async (days: number) => {
      for (let day = 0; day < days; day++) {
        await fill(daemon.journal, 40);
        await vi.waitFor(() => expect(daemon.store.audit.bytes("crowded")).toBeLessThan(namespaceBytes));
        nowMs += dayMs + 1;
      }
      const db = new DatabaseSync(path, { readOnly: true });
      const [counted] = db.prepare("pragma page_count").all();
      db.close();
      return Number(counted?.page_count);
    };
    const before = await pagesAfter(10);
    expect(await pagesAfter(30)).toBeLessThan(1.2 * before);
  });
});
