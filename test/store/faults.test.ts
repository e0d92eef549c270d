import { execFile } from "node:child_process";
import { mkdir, mkdtemp, mkdtempDisposable, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { AppError } from "../../packages/server/src/core/errors.ts";
import { storeLimits } from "../../packages/server/src/core/store-limits.ts";
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

  it("does without an intake where its disk has no room for one, and leaves the room that there is", async () => {
    const program = join(import.meta.dirname, "open-code.ts");
    const script = 'head -c 3500000 /dev/zero >"$1/ballast"; "$2" "$3" "$1/caisson.db"; ls "$1"';
    const left = ["audit-head.json", "ballast", "caisson.db", "caisson.db-owner", "signing-key.pem"];
    expect((await onSmallDisk(script, program)).trim().split("\n")).toEqual(["ok", ...left]);
  });

  it.each([
    ["as memory where blocks are written where they lie", "tmpfs", true],
    ["by writes elsewhere", "ramfs", false],
  ])("has its intake %s", async (_what, kind, isMemory) => {
    const said = await onDisk(kind, '"$2" "$3" "$1"', join(import.meta.dirname, "mapped.ts"));
    expect(JSON.parse(said)).toEqual({ isMemory, isInFile: true, found: ["here"] });
  });

  it("goes on without the native library, and says so", async () => {
    await using place = await mkdtempDisposable("/dev/shm/caisson-store-"); // written in place, whatever /var/tmp is
    const words = ["--no-addons", join(import.meta.dirname, "mapped.ts"), place.path];
    const { stdout, stderr } = await run(process.execPath, words);
    expect(JSON.parse(stdout)).toEqual({ isMemory: false, isInFile: true, found: ["here"] });
    expect(stderr).toContain("going on without native memory");
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
    await store.audit.record(auditEntry()); // is in the intake
    let done = false;
    const written = store.sandboxes.update("one", { status: "stopped" }).then(() => {
      done = true;
    });
    expect(await store.sandboxes.get("one")).toMatchObject({ id: "one", status: "running" });
    expect(done).toBe(false);
    other.exec("ROLLBACK");
    other.close();
    await written;
    expect(await store.sandboxes.get("one")).toMatchObject({ id: "one", status: "stopped" });
    expect(await store.audit.search({})).toHaveLength(1);
  });

  it("says that it is locked when that takes too long, keeps what it took before, and goes on later", async () => {
    await using store = await openStore({ path });
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    let taken = 0;
    const refused = async (): Promise<string> => {
      for (;;) {
        try {
          await store.audit.record(auditEntry({ detail: { taken } }));
        } catch (error) {
          return (error as AppError).code;
        }
        taken++;
      }
    };
    expect(await refused()).toBe("unavailable");
    expect(await store.sandboxes.insert(sandboxRecord("one")).catch((error) => error.code)).toBe("unavailable");
    other.exec("ROLLBACK");
    other.close();
    await store.audit.record(auditEntry({ detail: { taken } }));
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThanOrEqual(storeLimits.intake.records);
    const rows = [
      ...(await store.audit.search({ after: 0, limit: 1_000 })),
      ...(await store.audit.search({ after: 1_000, limit: 1_000 })),
    ];
    expect(rows.map(({ detail }) => detail.taken)).toEqual(Array.from({ length: taken + 1 }, (_, at) => at));
  });

  it("takes nothing more before it is in the database once a lock is noticed, tells of it, and takes it again later", async () => {
    const errors: unknown[] = [];
    await using store = await openStore({ path, onError: (error) => errors.push(error) });
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    await store.audit.record(auditEntry({ actor: "one" }));
    await vi.waitFor(() => expect(errors).toMatchObject([{ code: "unavailable" }]), { timeout: 30_000 });
    let isDone = false;
    const second = store.audit.record(auditEntry({ actor: "two" })).then(() => {
      isDone = true;
    });
    await nextTurn();
    expect(await store.sandboxes.living()).toEqual([]);
    expect(isDone).toBe(false);
    other.exec("ROLLBACK");
    other.close();
    await second;
    const rows = await store.audit.search({ after: 0 });
    expect(rows.map(({ actor }) => actor)).toEqual(["one", "two"]);
    const posted = vi.spyOn(Worker.prototype, "postMessage");
    onTestFinished(() => posted.mockRestore());
    await store.audit.record(auditEntry());
    expect(posted.mock.calls.filter(([{ requests }]) => requests.length > 0)).toEqual([]);
  });

  it("[AUD-01] keeps what it took and could not bring into the database when it is closed: the next one does", async () => {
    const errors: unknown[] = [];
    const store = await openStore({ path, onError: (error) => errors.push(error) });
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    await Promise.all([store.sandboxes.insert(sandboxRecord("one")), store.audit.record(auditEntry())]);
    await store[Symbol.asyncDispose]();
    expect(errors.at(-1)).toMatchObject({ code: "unavailable", message: expect.stringContaining("opened next") });
    other.exec("ROLLBACK");
    other.close();
    await using next = await openStore({ path });
    expect(await next.sandboxes.get("one")).toMatchObject({ id: "one" });
    expect(await next.audit.verify()).toMatchObject({ ok: true, rows: 1, waiting: 0 });
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
      "goes on behind rows that somebody put in",
      "insert into audit select 4, at_ms, type, namespace, actor, sandbox_id, request_id, detail, hash from audit where sequence = 3",
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

  it("[AUD-01] shows an entry to its own process from when it is acknowledged on, and to others soon", async () => {
    await using store = await openStore({ path });
    const other = new DatabaseSync(path, { readOnly: true });
    const last = other.prepare("select max(sequence) as sequence from audit");
    for (let sequence = 1; sequence <= 200; sequence++) {
      await store.audit.record(auditEntry());
      if (sequence % 2 === 0) expect(await store.audit.search({ limit: 1 })).toMatchObject([{ sequence }]);
    }
    await store.audit.record(auditEntry());
    await vi.waitFor(() => expect(last.get()).toEqual({ sequence: 201 }), { timeout: 30_000, interval: 1 });
    other.close();
  });

  it("is not opened when a newer Caisson wrote it", async () => {
    await (await openStore({ path }))[Symbol.asyncDispose]();
    const db = new DatabaseSync(path);
    db.exec("insert into schema_migrations values (9999, 'future', 0)");
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
    const files = ["", "-wal", "-shm", "-owner", "-intake"].map((end) => `caisson.db${end}`);
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
