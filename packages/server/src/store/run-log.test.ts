import { appendFile, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { recordLimits } from "../core/limits.ts";
import type { RunRecord } from "../core/run-record.ts";
import { chooseStale } from "./prune-run-logs.ts";
import { RunLog } from "./run-log.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp("/var/tmp/caisson-runs-");
});
afterEach(async () => {
  await rm(home, { recursive: true });
});

const DAY_MS = 86_400_000;
const retention = { keep: 10, days: 1 };

function record(run_id: string, extra: Partial<RunRecord> = {}): RunRecord {
  return {
    run_id,
    sandbox_id: "sandbox",
    engine: "container",
    started_at: new Date().toISOString(),
    command: "true",
    language: null,
    outcome: "completed",
    ended_by: null,
    exit_code: 0,
    signal: null,
    duration_ms: 1,
    cpu_ms: 1,
    timed_out: false,
    cpu_limit: false,
    oom_killed: false,
    stdout: "",
    stderr: "",
    truncated: false,
    files_changed: [],
    error: null,
    ...extra,
  };
}

const created = (path: string) => ({ action: "created" as const, path, size_bytes: 0, sha256: null });
const ids = (records: RunRecord[]) => records.map(({ run_id }) => run_id);
/** Without waiting for others that would go to the disk with it. */
async function put(log: RunLog, some: RunRecord): Promise<void> {
  const written = log.append(some);
  await Promise.all([written, log.flush()]);
}
const file = () => join(home, "runs/sandbox.jsonl");

describe("the log of runs", () => {
  it.each([
    ["many", recordLimits.pending / 2, {}],
    ["much of them", 64, { stdout: "x".repeat(recordLimits.pendingCharacters / 128) }],
    ["many of their files", 64, { files_changed: [created("x".repeat(recordLimits.pendingCharacters / 128))] }],
  ])("goes to the disk before anybody has to wait, where %s come", async (_, count, extra) => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const log = new RunLog(home, retention);
    const failed = (error: unknown) => expect.fail(String(error));
    const ended = Array.from({ length: count }, (_, run) => log.ended({ record: record(String(run), extra) }, failed));
    await Promise.all(ended); // none of them waits for the disk
    vi.useRealTimers();
    await log.flush();
  });

  it("[EXE-14] gives back what was appended, in order, by sandbox, also to another owner", async () => {
    const log = new RunLog(home, retention);
    const first = record("1", { stdout: "line\nwith \u2028 and \0", stderr: "é" });
    await log.append(first);
    log.append(record("2"));
    await log.append(record("x", { sandbox_id: "other" }));
    expect(await log.list("sandbox")).toEqual([first, expect.objectContaining({ run_id: "2" })]);
    expect(ids(await new RunLog(home, retention).list("other"))).toEqual(["x"]);
    expect(await log.list("nobody")).toEqual([]);
  });

  it("[EXE-14] gives the last runs of all sandboxes, in the order of their start", async () => {
    const log = new RunLog(home, retention);
    expect(await log.recent(3)).toEqual([]);
    const nowMs = Date.now();
    for (const [at, sandbox_id] of ["a", "b", "a", "c", "b"].entries())
      await put(log, record(String(at), { sandbox_id, started_at: new Date(nowMs - 1000 + at).toISOString() }));
    expect(ids(await log.recent(3))).toEqual(["2", "3", "4"]);
    expect(ids(await log.recent(9))).toEqual(["0", "1", "2", "3", "4"]);
  });

  it("[EXE-14] is readable by its owner alone", async () => {
    await put(new RunLog(home, retention), record("1"));
    expect((await stat(join(home, "runs"))).mode & 0o777).toBe(0o700);
    for (const name of await readdir(join(home, "runs")))
      expect((await stat(join(home, "runs", name))).mode & 0o777, name).toBe(0o600);
  });

  it("[EXE-14] keeps at most so many records of a sandbox, the newest, on disk too", async () => {
    for (let at = 0; at < 57; at++) {
      const log = new RunLog(home, retention); // each append by a new owner: what is on disk decides
      await put(log, record(String(at)));
      const from = Math.max(0, at - 9);
      const newest = Array.from({ length: at + 1 - from }, (_, ahead) => String(from + ahead));
      expect(ids(await log.list("sandbox"))).toEqual(newest);
      const lines = (await readFile(file(), "utf8")).split("\n").filter((line) => line !== "");
      expect(lines.length).toBeLessThanOrEqual(13);
    }
    expect((await readdir(join(home, "runs"))).sort()).toEqual(["pruned", "sandbox.jsonl"]);
  });

  it("[EXE-14] keeps the bytes of a sandbox's records bounded, the newest of them", async () => {
    const log = new RunLog(home, { keep: 1000, days: 1 });
    const stdout = "x".repeat(recordLimits.recordBytes / 2);
    for (let at = 0; at < 40; at++) await put(log, record(String(at), { stdout }));
    expect((await stat(file())).size).toBeLessThanOrEqual(recordLimits.sandboxBytes);
    expect(ids(await log.list("sandbox")).at(-1)).toBe("39");
  });

  it("[EXE-14] takes records past their age off the disk when it appends", async () => {
    const started_at = new Date(Date.now() - 2 * DAY_MS).toISOString();
    await put(new RunLog(home, retention), record("old", { started_at }));
    await put(new RunLog(home, retention), record("new"));
    expect(await readFile(file(), "utf8")).not.toContain('"old"');
  });

  it("[EXE-14] lists no record that is past its age", async () => {
    const log = new RunLog(home, retention);
    await put(log, record("old", { started_at: new Date(Date.now() - 2 * DAY_MS).toISOString() }));
    await put(log, record("new"));
    expect(ids(await log.list("sandbox"))).toEqual(["new"]);
  });

  it("[EXE-14] passes over a line that a crash tore, and loses none after it", async () => {
    const log = new RunLog(home, retention);
    await put(log, record("1"));
    const whole = await readFile(file(), "utf8");
    for (let cut = 1; cut < whole.length; cut += 37) {
      await writeFile(file(), whole + whole.slice(0, cut));
      const next = new RunLog(home, { keep: 100, days: 1 });
      expect(ids(await next.list("sandbox"))[0]).toBe("1");
      await put(next, record("2"));
      expect(ids(await next.list("sandbox"))).toEqual(["1", "2"]);
    }
  });

  it("[EXE-14] passes over what is no record, and does not follow a link", async () => {
    const log = new RunLog(home, retention);
    await put(log, record("1"));
    await appendFile(file(), 'null\n"text"\n[]\n{}\n');
    expect(ids(await log.list("sandbox"))).toEqual(["1"]);
    await symlink("/etc/passwd", join(home, "runs/linked.jsonl"));
    await expect(put(log, record("1", { sandbox_id: "linked" }))).rejects.toThrow(/ELOOP/);
  });

  it("[EXE-14] keeps the facts of a record whose text grows past the cap in JSON", async () => {
    const log = new RunLog(home, retention);
    await put(log, record("1", { stdout: "\u0001".repeat(recordLimits.recordBytes / 4) }));
    expect(await log.list("sandbox")).toMatchObject([{ run_id: "1", exit_code: 0, stdout: "", truncated: true }]);
    expect((await stat(file())).size).toBeLessThan(10_000);
  });

  it("takes no id that leads out of its folder", async () => {
    const log = new RunLog(home, retention);
    await expect(log.list("../escape")).rejects.toThrow(/not the id/);
    await expect(put(log, record("1", { sandbox_id: "a/b" }))).rejects.toThrow(/not the id/);
    await put(log, record("2"));
    expect(ids(await log.list("sandbox"))).toEqual(["2"]);
  });

  it("[EXE-14] removes files of sandboxes whose records are past their age, once an interval", async () => {
    await put(new RunLog(home, retention), record("1"));
    const past = new Date(Date.now() - 2 * DAY_MS);
    await utimes(file(), past, past);
    await put(new RunLog(home, retention), record("1", { sandbox_id: "second" }));
    expect(await readdir(join(home, "runs"))).toContain("sandbox.jsonl");
    await utimes(join(home, "runs/pruned"), past, past);
    await put(new RunLog(home, retention), record("1", { sandbox_id: "third" }));
    expect((await readdir(join(home, "runs"))).sort()).toEqual(["pruned", "second.jsonl", "third.jsonl"]);
  });

  it("removes the oldest files of what is too many or too much", () => {
    const now = 10 * DAY_MS;
    const many = Array.from({ length: recordLimits.sandboxes + 2 }, (_, at) => ({
      path: `${at}`,
      mtimeMs: now - at,
      bytes: 1,
    }));
    expect(chooseStale(many, now, DAY_MS)).toEqual([`${many.length - 2}`, `${many.length - 1}`]);
    const large = [3, 1, 2].map((at) => ({ path: `${at}`, mtimeMs: now - at, bytes: recordLimits.totalBytes / 2 }));
    expect(chooseStale(large, now, DAY_MS)).toEqual(["3"]);
  });
});
