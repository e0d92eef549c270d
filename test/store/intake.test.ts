import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { AuditVerdict } from "../../packages/server/src/core/audit.ts";
import type { Store } from "../../packages/server/src/core/store.ts";
import { storeLimits } from "../../packages/server/src/core/store-limits.ts";
import { verifyFile } from "../../packages/server/src/store/audit/verify-file.ts";
import { encodeRecord } from "../../packages/server/src/store/intake/record.ts";
import { openClient } from "../../packages/server/src/store/open-client.ts";
import { openStore, type StoreOptions } from "../../packages/server/src/store/open-store.ts";
import { auditEntry, databaseFiles, sandboxRecord } from "./entries.ts";

let folder: string;
let path: string;
const intake = () => `${path}-intake`;

beforeEach(async () => {
  folder = await mkdtemp("/var/tmp/caisson-intake-");
  path = join(folder, "caisson.db");
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A process that adds so many sandboxes, each with its entry, and is killed with the last acknowledgement. */
async function leave(first: number, count: number, sizeCharacters = 0): Promise<void> {
  const program = join(import.meta.dirname, "leaver.ts");
  const words = [program, path, ...[first, count, sizeCharacters].map(String)];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "ignore", "inherit"] });
  expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
}

/** What the database has by itself, and what the store has when it is opened. */
function inDatabase(): string[] {
  using db = new DatabaseSync(path, { readOnly: true });
  return db
    .prepare("select sandbox_id as id from audit where sandbox_id is not null order by sequence")
    .all()
    .map(({ id }) => String(id));
}

async function contents(store: Store): Promise<{ entries: unknown[]; sandboxes: string[] }> {
  const rows = await store.audit.search({ after: 0, limit: 1_000 });
  const entries = rows.map(({ sandboxId, type, detail }) => sandboxId ?? detail.what ?? type);
  return { entries, sandboxes: (await store.sandboxes.living()).map(({ id }) => id).sort() };
}

async function opened(options: Partial<StoreOptions> = {}) {
  await using store = await openStore({ path, ...options });
  const found = await contents(store);
  expect((await store.audit.verify()).problems).toEqual([]);
  return found;
}

const names = (first: number, count: number) => Array.from({ length: count }, (_, at) => `s${first + at}`);
const both = (first: number, count: number) => ({ entries: names(first, count), sandboxes: names(first, count) });

describe("the intake", () => {
  it("[AUD-01] holds what a killed process acknowledged and did not bring into the database; the next one does, once", async () => {
    await leave(1, 3);
    const held = inDatabase();
    expect(held).not.toContain("s3");
    const keys = [await readFile(join(folder, "signing-key.pem"), "utf8")];
    const verdict = await verifyFile({ path, keys, headNeeded: true });
    expect(verdict).toMatchObject({ ok: true, rows: held.length, waiting: 3 - held.length });
    expect(await opened()).toEqual(both(1, 3));
    expect(await verifyFile({ path, keys, headNeeded: true })).toMatchObject({ ok: true, rows: 3, waiting: 0 });
    expect(await opened()).toEqual(both(1, 3));
    await leave(4, 3);
    expect(await opened()).toEqual(both(1, 6));
  });

  it("[AUD-01] brings it in once also when the next process is killed as well, again and again", async () => {
    for (let first = 1; first <= 7; first += 2) await leave(first, 2);
    expect(await opened()).toEqual(both(1, 8));
  });

  it("has a record and its entry together or not at all: one that is damaged is none, nor are those behind it", async () => {
    await leave(1, 3);
    const bytes = await readFile(intake());
    const middle = bytes.indexOf('"s2"');
    expect(middle).toBeGreaterThan(0);
    bytes[middle + 1] = 0x78;
    await writeFile(intake(), bytes);
    expect(await opened()).toEqual(both(1, 1));
  });

  it.each([
    ["cut off", async () => truncate(intake(), 100)],
    ["empty", async () => truncate(intake(), 0)],
    ["full of something else", async () => writeFile(intake(), Buffer.alloc(2 ** 20, "x"))],
    ["gone", async () => rm(intake())],
  ])("does not keep a store from being opened when it is %s", async (_what, harm) => {
    await leave(1, 3);
    await harm();
    expect(await opened()).toEqual({ entries: [], sandboxes: [] });
    await leave(4, 1);
    expect(await opened()).toEqual(both(4, 1));
  });

  it("takes no record of an earlier process for one of its own", async () => {
    await leave(1, 3);
    const stale = await readFile(intake());
    expect(await opened()).toEqual(both(1, 3));
    await leave(4, 1);
    const bytes = await readFile(intake());
    const size = 18 + bytes.readUInt32LE(4);
    stale.copy(bytes, size, size); // as a disk that lost power may have it
    await writeFile(intake(), bytes);
    expect(await opened()).toEqual(both(1, 4));
  });

  it("is written over in turns, and loses nothing by it", async () => {
    await using store = await openStore({ path });
    const text = "x".repeat(storeLimits.intake.characters - 1_000);
    const count = 3 * Math.ceil(storeLimits.intake.bytes / text.length);
    for (let at = 0; at < count; at++) await store.audit.record(auditEntry({ detail: { at, text } }));
    expect((await stat(intake())).size).toBe(storeLimits.intake.bytes);
    const found: unknown[] = [];
    for (let after = 0; after < count; after += 1_000)
      found.push(...(await store.audit.search({ after, limit: 1_000 })).map(({ detail }) => detail.at));
    expect(found).toEqual(Array.from({ length: count }, (_, at) => at));
    expect((await store.audit.verify()).problems).toEqual([]);
  });

  it("has all its blocks, also where a copy left them out", async () => {
    await writeFile(intake(), "");
    await truncate(intake(), storeLimits.intake.bytes);
    expect((await stat(intake())).blocks).toBe(0);
    await using _store = await openStore({ path });
    expect((await stat(intake())).blocks * 512).toBeGreaterThanOrEqual(storeLimits.intake.bytes);
  });

  it("begins at its start again when all that it holds is on the disk, and loses nothing by it", async () => {
    await using store = await openStore({ path });
    let recorded = 0;
    const record = async () => {
      await store.audit.record(auditEntry({ detail: { number: ++recorded } }));
      return (await readFile(intake())).readUIntLE(12, 6);
    };
    await vi.waitFor(async () => expect(await record()).toBeGreaterThan(1), { timeout: 30_000, interval: 100 });
    for (let more = 0; more < 5; more++) await record();
    const rows = await store.audit.search({ after: 0, limit: 1_000 });
    expect(rows.map(({ detail }) => detail.number)).toEqual(Array.from({ length: recorded }, (_, at) => at + 1));
    expect((await store.audit.verify()).problems).toEqual([]);
  });

  it("brings in what a killed process left across its end", async () => {
    const large = storeLimits.intake.characters - 2_000;
    const many = Math.floor(storeLimits.intake.bytes / large) + 20;
    await leave(1, many, large);
    const { entries } = await opened();
    expect(entries).toEqual(names(1, many));
  });

  it("[AUD-01] says so in the log when a copy has its database from before and its intake from long after", async () => {
    await leave(1, 1);
    const before = join(folder, "before");
    await mkdir(before);
    for (const name of [...databaseFiles, "signing-key.pem", "audit-head.json"])
      await copyFile(join(folder, name), join(before, name));
    // Another turn of the same intake: it begins with a record of a later number.
    const bytes = await readFile(join(before, "caisson.db-intake"));
    const salt = bytes.readUInt32LE(8);
    encodeRecord(bytes, 0, salt, { number: 500, text: "[]" });
    await writeFile(join(before, "caisson.db-intake"), bytes);
    path = join(before, "caisson.db");
    await using store = await openStore({ path });
    expect((await contents(store)).entries).toEqual(["entries that waited for their place in the log were gone"]);
    expect((await store.audit.verify()).ok).toBe(false);
  });

  it("is gone when the store was closed, and everything is in the database", async () => {
    {
      await using store = await openStore({ path });
      await store.sandboxes.insert(sandboxRecord("s1"));
      await store.audit.record(auditEntry({ sandboxId: "s1" }));
      expect((await stat(intake())).mode & 0o777).toBe(0o600);
    }
    await expect(stat(intake())).rejects.toMatchObject({ code: "ENOENT" });
    expect(inDatabase()).toEqual(["s1"]);
  });

  it("is not opened through a link", async () => {
    await writeFile(join(folder, "victim"), "mine");
    await symlink(join(folder, "victim"), intake());
    await expect(openStore({ path })).rejects.toMatchObject({ code: "unavailable" });
    expect(await readFile(join(folder, "victim"), "utf8")).toBe("mine");
  });

  it("takes nothing that the database might refuse", async () => {
    await using store = await openStore({ path });
    const nested = Array.from({ length: 20 }).reduce<object>((inner) => ({ inner }), {});
    for (const detail of [nested, { number: Number.NaN }, { text: "x".repeat(20_000) }])
      await expect(store.audit.record(auditEntry({ detail: detail as never }))).rejects.toMatchObject({
        code: expect.stringMatching(/^(invalid|too_large)$/),
      });
    await expect(store.audit.record(auditEntry({ actor: "x".repeat(257) }))).rejects.toMatchObject({
      code: "too_large",
    });
    await expect(store.audit.record(auditEntry({ actor: undefined as never }))).rejects.toBeInstanceOf(Error);
    await store.audit.record(auditEntry({ detail: { list: [1, { deep: true }], text: "\0\ud800" } }));
    await store.audit.record(auditEntry({ detail: { text: "\0\ud800" } }));
    const rows = await store.audit.search({ after: 0 });
    expect(rows.map(({ detail }) => detail.text)).toEqual(["\ufffd\ufffd", "\ufffd\ufffd"]);
    expect((await store.audit.verify()).problems).toEqual([]);
  });

  it("tells of a row that the database did have already, and goes on with its entry", async () => {
    const errors: unknown[] = [];
    await using store = await openStore({ path, onError: (error) => errors.push(error) });
    for (let at = 0; at < 2; at++) {
      const writes = [store.sandboxes.insert(sandboxRecord("s1")), store.audit.record(auditEntry({ sandboxId: "s1" }))];
      await Promise.all(writes);
    }
    expect(await contents(store)).toEqual({ entries: ["s1", "s1"], sandboxes: ["s1"] });
    expect(errors).toMatchObject([{ code: "conflict" }]);
  });

  it("keeps no store from being opened by such a row of a killed process, and tells of it", async () => {
    await leave(1, 1);
    await opened();
    await leave(1, 1);
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    expect(await opened({ onError })).toEqual({ entries: ["s1", "s1"], sandboxes: ["s1"] });
    expect(errors).toMatchObject([{ code: "conflict" }]);
  });

  it("[AUD-01] takes nothing that comes while the store closes: it is refused, or kept", async () => {
    const client = await openClient({ path });
    const { emit } = Worker.prototype;
    let late: Promise<string> | undefined;
    const hearing = vi.spyOn(Worker.prototype, "emit").mockImplementation(function (this: Worker, ...words) {
      const heard = emit.apply(this, words);
      // Between the thread's last word and its end.
      if (words[0] === "message")
        setImmediate(() => {
          late ??= client.append(auditEntry({ sandboxId: "late" }), 1).then(
            () => "kept",
            () => "refused",
          );
        });
      return heard;
    });
    onTestFinished(() => hearing.mockRestore());
    await client.close();
    await vi.waitFor(() => expect(late).toBeDefined());
    expect(inDatabase()).toHaveLength((await late) === "kept" ? 1 : 0);
  });

  it("takes nothing while a transaction of several steps is under way, which would hold it up", async () => {
    const client = await openClient({ path });
    const transaction = await client.begin();
    let isTaken = false;
    const taken = client.append(auditEntry({ sandboxId: "s1" }), 1).then(() => {
      isTaken = true;
    });
    await nextTurn();
    await client.query("read", "select 1", [], transaction);
    expect(isTaken).toBe(false);
    await client.end("commit", transaction);
    await taken;
    await client.close();
    expect(inDatabase()).toEqual(["s1"]);
  });

  it("lets nothing be written before what it holds: where that cannot be read, writes are refused and reads go on", async () => {
    const errors: unknown[] = [];
    await using store = await openStore({ path, onError: (error) => errors.push(error) });
    await store.audit.record(auditEntry());
    writeFileSync(intake(), Buffer.alloc(storeLimits.intake.bytes), { flag: "r+" });
    await expect(store.keys.update("none", { revokedAtMs: 1 })).rejects.toMatchObject({ code: "internal" });
    expect(await store.sandboxes.living()).toEqual([]);
    expect(errors).toMatchObject([{ code: "internal", message: expect.stringContaining("intake") }]);
  });

  it("may be taken away while the store is open: it is closed all the same", async () => {
    {
      await using store = await openStore({ path });
      await store.audit.record(auditEntry({ sandboxId: "s1" }));
      await rm(intake());
    }
    expect(inDatabase()).toEqual(["s1"]);
  });

  it("[AUD-01] is verified with what was recorded just before, by one thread at a time", async () => {
    await using store = await openStore({ path });
    const threads = vi.spyOn(Worker.prototype, "on");
    const posted = vi.spyOn(Worker.prototype, "postMessage");
    onTestFinished(() => {
      threads.mockRestore();
      posted.mockRestore();
    });
    const verdicts: Promise<AuditVerdict>[] = [];
    for (let rows = 1; rows <= 12; rows++) {
      await store.audit.record(auditEntry());
      verdicts.push(store.audit.verify());
      await nextTurn();
    }
    expect((await Promise.all(verdicts)).at(-1)).toMatchObject({ ok: true, rows: 12, waiting: 0 });
    expect(new Set(threads.mock.contexts).size).toBeLessThanOrEqual(3);
    const synced = posted.mock.calls.findIndex(([{ requests }]) =>
      requests.some(({ op }: { op: string }) => op === "sync"),
    );
    const [made = 0] = threads.mock.invocationCallOrder;
    expect(posted.mock.invocationCallOrder[synced]).toBeLessThan(made);
  });
});
