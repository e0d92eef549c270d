import { createHash, hash } from "node:crypto";
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { AuditEntry, AuditRow } from "../../packages/server/src/core/audit.ts";
import type { JournalEvent, News } from "../../packages/server/src/core/journal.ts";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import type { Role } from "../../packages/server/src/core/scope.ts";
import { StoredJournal } from "../../packages/server/src/journal/stored-journal.ts";
import { auditLimits } from "../../packages/server/src/store/limits.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import type { Store } from "../../packages/server/src/store/store.ts";
import { databaseFiles } from "./entries.ts";

const { budgetRows, budgetMs, budgetCounts } = auditLimits;
let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp("/var/tmp/caisson-flood-");
  path = join(folder, "caisson.db");
});
afterEach(() => rm(folder, { recursive: true }));

const by = (id: string, namespace = "crowded", role: Role = "agent"): Caller => ({
  principal: { id, name: id, namespace, role },
  requestId: "req_1",
});

const longPath = "/workspace/".padEnd(2_000, "x");
const signedUrl = (caller: Caller, number: number, sandboxId = "one"): News => ({
  ...{ type: "signed_url.created", by: caller, sandboxId },
  data: { method: "GET", path: `${longPath}${number}`, expires_at: "2026-01-01T00:00:00.000Z" },
});
const denied = (caller: Caller): News => ({
  ...{ type: "access.denied", by: caller },
  data: { method: "POST", route: "/api/v1/sandboxes", role: caller.principal.role },
});

/** Returns a function that lets so much time pass. */
function holdTime(): (ms: number) => void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  return (ms) => void vi.advanceTimersByTime(ms);
}

interface TestJournal extends AsyncDisposable {
  store: Store;
  journal: StoredJournal;
  told: JournalEvent[];
  errors: unknown[];
  /** Fails what is committed while it is set. */
  breaks: { with?: Error };
  rows(type?: string, namespace?: string): Promise<AuditRow[]>;
}

async function open(): Promise<TestJournal> {
  const store = await openStore({ path });
  const told: JournalEvent[] = [];
  const errors: unknown[] = [];
  const breaks: TestJournal["breaks"] = {};
  const journal = await StoredJournal.open({
    audit: store.audit,
    batch: () => {
      const batch = store.batch();
      let entries = 0;
      const record = (entry: AuditEntry) => {
        entries++;
        batch.record(entry);
      };
      const isBroken = () => breaks.with !== undefined && entries > 0;
      return { record, commit: () => (isBroken() ? Promise.reject(breaks.with) : batch.commit()) };
    },
    onEvent: (event) => told.push(event),
    onError: (error) => errors.push(error),
  });
  const rows = async (type?: string, namespace = "crowded") => {
    const found: AuditRow[] = [];
    for (let after = 0; ; after = found.at(-1)?.position ?? 0) {
      const page = await store.audit.search({
        after,
        namespace,
        limit: 1_000,
        ...(type === undefined ? {} : { type }),
      });
      found.push(...page);
      if (page.length < 1_000) return found;
    }
  };
  return {
    ...{ store, journal, told, errors, breaks, rows },
    [Symbol.asyncDispose]: async () => {
      await journal[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

async function flood(journal: StoredJournal, count: number, news: (number: number) => News): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await journal.record(news(next++));
  };
  await Promise.all(Array.from({ length: 32 }, lane));
}

describe("the audit log under a flood of one key's entries", () => {
  it("[S107] keeps a minute of signed URLs with long paths in the rows of the budget, and counts the rest", async () => {
    const minute = 42_000;
    {
      await using daemon = await open();
      await daemon.journal.record(signedUrl(by("victim", "quiet"), 1));
      await flood(daemon.journal, minute, (number) => signedUrl(by("flooder"), number));
      expect(await daemon.rows("signed_url.created")).toHaveLength(budgetRows);
      expect(await daemon.rows("audit.counting")).toMatchObject([{ actor: "flooder", detail: { rows: budgetRows } }]);
    }
    await using daemon = await open();
    const rows = await daemon.rows();
    expect(rows).toHaveLength(budgetRows + 2);
    const bytes = rows.reduce((sum, { detail }) => sum + JSON.stringify(detail).length, 0);
    expect(bytes).toBeLessThan(budgetRows * 500);
    expect(rows.at(-1)).toMatchObject({
      ...{ type: "audit.repeated", actor: "flooder", sandboxId: "one" },
      detail: { type: "signed_url.created", count: minute - budgetRows },
    });
    expect(await daemon.rows("signed_url.created", "quiet")).toHaveLength(1);
    expect(await daemon.store.audit.verify()).toMatchObject({ ok: true, problems: [] });
  });

  it("[S107] keeps a viewer's refusals likewise, and those of another key beside it one by one", async () => {
    await using daemon = await open();
    await flood(daemon.journal, budgetRows * 3, () => denied(by("viewer", "crowded", "viewer")));
    await daemon.journal.record(denied(by("another", "crowded", "viewer")));
    await daemon.journal[Symbol.asyncDispose]();
    const refusals = await daemon.rows("access.denied");
    expect(refusals).toHaveLength(budgetRows + 1);
    expect(refusals.at(-1)?.actor).toBe("another");
    expect(await daemon.rows("audit.repeated")).toMatchObject([
      { actor: "viewer", detail: { type: "access.denied", count: budgetRows * 2 } },
    ]);
  });

  it("[S107] says of what it counts what, how often, when, and the hash of all details", async () => {
    await using daemon = await open();
    const news = (number: number) => signedUrl(by("flooder"), number);
    for (let number = 0; number < budgetRows; number++) await daemon.journal.record(news(number));
    const beganMs = Date.now();
    const details = createHash("sha256");
    for (let number = 0; number < 3; number++) {
      await daemon.journal.record(news(number));
      const [row] = await daemon.store.audit.search({ after: number, limit: 1 });
      details.update(`${JSON.stringify({ ...news(number).data, path: row?.detail.path })}\n`);
    }
    await daemon.journal[Symbol.asyncDispose]();
    const [row] = await daemon.rows("audit.repeated");
    expect(row?.detail).toMatchObject({ count: 3, details_sha256: details.digest("hex") });
    const [first = 0, last = 0] = [row?.detail.first_at, row?.detail.last_at].map((at) => Date.parse(String(at)));
    expect([first >= beganMs, last >= first, last <= Date.now()]).toEqual([true, true, true]);
  });

  it("[S107] never counts what has an effect that an auditor looks for", async () => {
    await using daemon = await open();
    const caller = by("flooder");
    await flood(daemon.journal, budgetRows + 1, (number) => signedUrl(caller, number));
    const facts: News[] = [
      { type: "sandbox.destroyed", by: caller, sandboxId: "one", data: {} },
      { type: "key.revoked", by: caller, data: { key_id: "key_1" } },
      { type: "secret.deleted", by: caller, data: { secret: "NAME" } },
      { type: "execution.completed", by: caller, sandboxId: "one", data: {} },
    ];
    for (const fact of facts) await daemon.journal.record(fact);
    expect((await daemon.rows()).slice(-4).map(({ type }) => type)).toEqual(facts.map(({ type }) => type));
  });

  it("[S107] counts what the daemon records about a sandbox by sandbox, and commits what belongs to it", async () => {
    await using daemon = await open();
    let facts = 0;
    const attempt = (sandboxId: string): News => ({
      ...{ type: "egress.denied", by: "system", namespace: "crowded", sandboxId },
      data: { attempt_id: "a", host: "example.com", port: 443, address: null, rule: null, reason: null },
    });
    const answer = {
      ...{ approval_id: "apr_1", kind: "egress", subject: "example.com", question_sha256: "", asked_by: null },
      ...{ scope: null, reason: null, decided_by: "human", asked: 1 },
    } as const;
    for (let at = 0; at < budgetRows + 5; at++) await daemon.journal.record(attempt("loud"), () => void facts++);
    await daemon.journal.record(attempt("other"));
    await daemon.journal.record({ ...attempt("loud"), type: "egress.denied", data: answer } as News);
    await daemon.journal[Symbol.asyncDispose]();
    expect(facts).toBe(budgetRows + 5);
    const rows = await daemon.rows("egress.denied");
    expect(rows).toHaveLength(budgetRows + 2);
    expect(rows.slice(-2)).toMatchObject([{ sandboxId: "other" }, { detail: { approval_id: "apr_1" } }]);
    expect(await daemon.rows("audit.repeated")).toMatchObject([{ sandboxId: "loud", detail: { count: 5 } }]);
  });

  it("[S107] bounds counts too: past some sandboxes further ones share one", async () => {
    await using daemon = await open();
    const caller = by("flooder");
    await flood(daemon.journal, budgetRows, (number) => signedUrl(caller, number));
    await flood(daemon.journal, 1_000, (number) => signedUrl(caller, number, `sandbox-${number}`));
    await daemon.journal[Symbol.asyncDispose]();
    const counts = await daemon.rows("audit.repeated");
    expect(counts).toHaveLength(budgetCounts + 1);
    expect(counts.reduce((sum, { detail }) => sum + Number(detail.count), 0)).toBe(1_000);
    expect(counts.filter(({ sandboxId }) => sandboxId === null)).toHaveLength(1);
  });

  it("[S107] writes counts at the end of the minute, tells subscribers of them alone, and begins a new budget", async () => {
    const pass = holdTime();
    await using daemon = await open();
    const signed: News = { ...signedUrl(by("flooder"), 1), type: "artifact.signed", data: { files: 1 } } as News;
    const types = () => new Set(daemon.told.map(({ type }) => type));
    await flood(daemon.journal, budgetRows + 7, () => signed);
    pass(budgetMs - 1);
    await daemon.store.audit.verify();
    expect([...types()]).toEqual(["artifact.signed"]);
    pass(1);
    await expect.poll(() => [...types()]).toEqual(["artifact.signed", "audit.repeated"]);
    expect(daemon.told).toHaveLength(budgetRows + 1);
    expect(daemon.told.at(-1)).toMatchObject({ data: { type: "artifact.signed", count: 7 } });
    await daemon.journal.record(signed);
    expect(await daemon.rows("artifact.signed")).toHaveLength(budgetRows + 1);
  });

  it("[S107] leaves a mark where counting began, so that a log whose daemon was killed says that counts are missing", async () => {
    await using daemon = await open();
    await flood(daemon.journal, budgetRows + 50, (number) => signedUrl(by("flooder"), number));
    const copy = join(folder, "copy");
    await mkdir(copy);
    for (const name of ["signing-key.pem", "audit-head.json", ...databaseFiles])
      await copyFile(join(folder, name), join(copy, name));
    await using store = await openStore({ path: join(copy, "caisson.db") });
    const types = (await store.audit.search({ limit: 3 })).map(({ type }) => type);
    expect(types.slice(0, 2)).toContain("audit.counting");
    expect(types).not.toContain("audit.repeated");
    expect(await store.audit.verify()).toMatchObject({ ok: true });
  });

  it("[S107] counts nothing that could not be stored, and nothing at all while counts cannot be written", async () => {
    const pass = holdTime();
    await using daemon = await open();
    const news = () => signedUrl(by("flooder"), 1);
    await flood(daemon.journal, budgetRows, news);
    daemon.breaks.with = new Error("no room");
    await expect(daemon.journal.record(news())).rejects.toThrow("no room");
    delete daemon.breaks.with;
    await flood(daemon.journal, 3, news);
    expect(await daemon.rows("audit.counting")).toHaveLength(1);
    daemon.breaks.with = new Error("no room");
    pass(budgetMs);
    await expect.poll(() => daemon.errors.length).toBe(1);
    const results = await Promise.allSettled(
      Array.from({ length: budgetRows + 2 }, () => daemon.journal.record(news())),
    );
    expect(results.filter(({ status }) => status === "fulfilled")).toEqual([]);
    delete daemon.breaks.with;
    pass(auditLimits.headRetryMs);
    await expect.poll(() => daemon.rows("audit.repeated")).toMatchObject([{ detail: { count: 3 } }]);
    await flood(daemon.journal, budgetRows + 1, news);
    expect(await daemon.rows("signed_url.created")).toHaveLength(2 * budgetRows);
  });

  it("[S107] holds of a long path its beginning and the hash of the whole, and a short one as it is", async () => {
    await using daemon = await open();
    const caller = by("writer");
    const moved = { from: `/workspace/${"ü".repeat(300)}`, to: "/workspace/short", replace: false };
    await daemon.journal.record({ type: "file.moved", by: caller, sandboxId: "one", data: moved });
    const [row] = await daemon.rows();
    const start = moved.from.slice(0, auditLimits.pathCharacters);
    expect(row?.detail).toEqual({ ...moved, from: `${start}… sha256:${hash("sha256", moved.from)}` });
  });
});
