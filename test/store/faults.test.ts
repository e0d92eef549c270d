import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AppError } from "../../packages/server/src/core/errors.ts";
import { storeLimits } from "../../packages/server/src/store/limits.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { auditEntry, sandboxRecord } from "./entries.ts";

const run = promisify(execFile);
let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp("/var/tmp/caisson-faults-");
  path = join(folder, "caisson.db");
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const onSmallDisk = (script: string, ...args: string[]) => onDisk("tmpfs -o size=4m", script, ...args);

/** Runs a program on a disk of its own, which only it sees. */
async function onDisk(kind: string, script: string, ...args: string[]): Promise<string> {
  const { stdout } = await run("unshare", [
    "-rm",
    "sh",
    "-ec",
    `mount -t ${kind} none "$1"; ${script}`,
    "sh",
    folder,
    process.execPath,
    ...args,
  ]);
  return stdout;
}

describe("a store", () => {
  it("says that its disk is full, still reads, and goes on when there is room, without a restart", async () => {
    const program = join(import.meta.dirname, "full-store.ts");
    expect(JSON.parse(await onSmallDisk('"$2" "$3" "$1"', program))).toEqual({
      failure: "limit_exceeded",
      changed: "limit_exceeded",
      read: "running",
      nothingTooMuch: true,
      again: "ok",
      changedAgain: "ok",
      rows: 1,
      problems: [],
    });
  });

  it("goes on when its log has room and what it turns over into has not: it says so, and loses nothing", async () => {
    const program = join(import.meta.dirname, "full-turnover.ts");
    expect(JSON.parse(await onDisk("tmpfs -o size=9m", '"$2" "$3" "$1"', program))).toEqual({
      failure: "limit_exceeded",
      told: ["limit_exceeded"],
      isRead: true,
      isWhole: true,
      problems: [],
    });
  });

  it("leaves nothing behind that goes on when it is closed after its thread has ended", async () => {
    const { stdout } = await run(process.execPath, [join(import.meta.dirname, "ended-thread.ts"), path], {
      timeout: 30_000,
    });
    expect(stdout).toBe("closed\n");
  });

  it("says that its disk cannot be written", async () => {
    const program = join(import.meta.dirname, "open-code.ts");
    const script = '"$2" "$3" "$1/caisson.db"; mount -o remount,ro "$1"; "$2" "$3" "$1/caisson.db"';
    expect((await onSmallDisk(script, program)).trim().split("\n")).toEqual(["ok", "unavailable"]);
  });

  it("reads while another program has locked it, and writes when the lock is gone", async () => {
    await using store = await openStore({ path });
    await store.sandboxes.insert(sandboxRecord("one"));
    expect(await store.sandboxes.get("one")).toMatchObject({ id: "one" });
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const recorded = store.audit.record(auditEntry());
    let done = false;
    const written = store.sandboxes.update("one", { status: "stopped" }).then(() => {
      done = true;
    });
    expect(await store.sandboxes.get("one")).toMatchObject({ id: "one", status: "running" });
    expect(done).toBe(false);
    other.exec("ROLLBACK");
    other.close();
    await Promise.all([recorded, written]);
    expect(await store.sandboxes.get("one")).toMatchObject({ id: "one", status: "stopped" });
    expect(await store.audit.search({})).toHaveLength(1);
  });

  it("says that it is locked when that takes too long, and goes on later", async () => {
    await using store = await openStore({ path });
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const codeOf = (work: Promise<unknown>) => work.then(() => "ok").catch((error: AppError) => error.code);
    const refused = [store.audit.record(auditEntry()), store.sandboxes.insert(sandboxRecord("one"))];
    expect(await Promise.all(refused.map(codeOf))).toEqual(["unavailable", "unavailable"]);
    other.exec("ROLLBACK");
    other.close();
    await store.audit.record(auditEntry({ actor: "later" }));
    expect((await store.audit.search({})).map(({ actor }) => actor)).toEqual(["later"]);
    expect(await store.sandboxes.get("one")).toBeUndefined();
  });

  it("has one owner at a time", async () => {
    {
      await using store = await openStore({ path });
      await expect(openStore({ path })).rejects.toMatchObject({ code: "conflict" });
      await store.audit.record(auditEntry());
    }
    await using next = await openStore({ path });
    expect(await next.audit.verify()).toMatchObject({ ok: true, rows: 1 });
  });

  const changes = [
    ["puts no entry in the place of one that somebody took out", "delete from audit where sequence = 3", 4, 3],
    [
      "sets rows aside that somebody put in",
      "insert into audit select 4, namespace, 4, at_ms, type, actor, sandbox_id, request_id, run_id, detail, hash, mac, chain_bytes from audit where sequence = 3",
      5,
      4,
    ],
  ] as const;
  it.each(changes)("[AUD-01] %s, and finds that it was done", async (_what, change, sequence, broken) => {
    await using store = await openStore({ path });
    for (let at = 0; at < 3; at++) await store.audit.record(auditEntry());
    expect(await store.audit.search({})).toHaveLength(3);
    const other = new DatabaseSync(path);
    other.exec(change);
    other.close();
    await store.audit.record(auditEntry({ actor: "later" }));
    expect((await store.audit.search({ limit: 1 }))[0]).toMatchObject({ sequence, actor: "later" });
    expect((await store.audit.verify()).problems[0]?.sequence).toBe(broken);
  });

  it("[AUD-01] shows an entry to whoever opens the database from when it is acknowledged on", async () => {
    await using store = await openStore({ path });
    const other = new DatabaseSync(path, { readOnly: true });
    const last = other.prepare("select max(sequence) as sequence from audit");
    for (let sequence = 1; sequence <= 200; sequence++) {
      await store.audit.record(auditEntry());
      expect(last.get()).toEqual({ sequence });
    }
    other.close();
  });

  it("is not opened when another version of Caisson wrote it", async () => {
    await (await openStore({ path }))[Symbol.asyncDispose]();
    const db = new DatabaseSync(path);
    db.exec("pragma user_version = 17");
    db.close();
    await expect(openStore({ path })).rejects.toMatchObject({ code: "unsupported", hint: expect.any(String) });
  });

  it("is not opened when it is no database, or no file", async () => {
    await writeFile(path, "x".repeat(10_000));
    await expect(openStore({ path })).rejects.toMatchObject({ code: "unavailable" });
    await rm(path);
    await mkdir(path);
    await expect(openStore({ path })).rejects.toMatchObject({ code: "unavailable" });
  });

  it("is readable by its owner alone", async () => {
    await using store = await openStore({ path });
    await store.audit.record(auditEntry());
    const files = ["", "-wal", "-shm", "-owner"].map((end) => `caisson.db${end}`);
    for (const name of [...files, "audit-head.json"]) {
      expect((await stat(join(folder, name))).mode & 0o777, name).toBe(0o600);
    }
  });

  it("refuses what is asked when it is closed", async () => {
    const store = await openStore({ path });
    await store[Symbol.asyncDispose]();
    await expect(store.audit.record(auditEntry())).rejects.toMatchObject({ code: "unavailable" });
    await expect(store.sandboxes.living()).rejects.toMatchObject({ code: "unavailable" });
  });

  it("refuses requests past a limit in place of holding them", async () => {
    await using store = await openStore({ path });
    const asked = Array.from({ length: storeLimits.pending + 10 }, () => store.audit.record(auditEntry()));
    const outcomes = await Promise.allSettled(asked);
    const refused = outcomes.filter((outcome) => outcome.status === "rejected");
    expect(refused.map(({ reason }) => reason.code)).toEqual(Array.from({ length: 10 }, () => "unavailable"));
    expect(await store.audit.verify()).toMatchObject({ ok: true, rows: storeLimits.pending });
  });
});
