import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AuditVerdict, NotedRow } from "../../packages/server/src/core/audit.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { hashRow } from "../../packages/server/src/store/audit/chain.ts";
import { readHead } from "../../packages/server/src/store/audit/head-file.ts";
import { readAuditKey } from "../../packages/server/src/store/audit/row-mac.ts";
import { verifyFile } from "../../packages/server/src/store/audit/verify-file.ts";
import { verifyLog } from "../../packages/server/src/store/audit/verify-log.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { auditEntry } from "./entries.ts";

let template: string;
let folder: string;
let path: string;
const headPath = () => join(folder, "audit-head.json");

beforeAll(async () => {
  template = await mkdtemp("/var/tmp/caisson-audit-");
  // Two checkpoints: at 20 and 40.
  for (const start of [0, 20]) {
    await using store = await openStore({ path: join(template, "caisson.db") });
    for (let at = start + 1; at <= start + 20; at++) {
      await store.audit.record(auditEntry({ sandboxId: `s${at % 3}`, detail: { at, note: `entry ${at}` } }));
    }
  }
});
beforeEach(async () => {
  folder = await mkdtemp("/var/tmp/caisson-audit-");
  path = join(folder, "caisson.db");
  await cp(template, folder, { recursive: true });
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});
afterAll(async () => {
  await rm(template, { recursive: true });
});

const keys = async () => [readAuditKey(await readFile(join(folder, "signing-key.pem"), "utf8"))];

/** As verifyFile does, without a thread of its own. */
async function verify(more: { expected?: NotedRow[] } = {}): Promise<AuditVerdict> {
  const head = (await readHead(headPath()).catch(() => "unreadable" as const)) ?? "missing";
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return verifyLog(db, { keys: await keys(), head, ...more });
  } finally {
    db.close();
  }
}

function edit(...statements: string[]): void {
  const db = new DatabaseSync(path);
  for (const statement of statements) db.exec(statement);
  db.close();
}

describe("the audit log", () => {
  it("[AUD-01] verifies when nobody touched it, from its own process and from outside", async () => {
    const verdict = await verify();
    const chain = { namespace: "default", rows: 40, first: 1, last: 40, pruned: 0, checkpoints: 2, unvouched: 0 };
    expect(verdict).toMatchObject({ ok: true, rows: 40, chains: [chain], problems: [] });
    expect(await verifyFile({ path, keys: await keys(), headNeeded: true })).toEqual(verdict);
    await using store = await openStore({ path });
    expect(await store.audit.verify()).toEqual(verdict);
  });

  // biome-ignore format: a table
  const edits: [string, string[], number][] = [
    ["an edited type", ["update audit set type = 'sandbox.stopped' where sequence = 7"], 7],
    ["an edited detail", ["update audit set detail = replace(detail, 'entry 7', 'entry 8') where sequence = 7"], 7],
    ["an edited time", ["update audit set at_ms = at_ms + 1 where sequence = 7"], 7],
    ["an edited actor", ["update audit set actor = 'key-2' where sequence = 7"], 7],
    ["an edited sandbox", ["update audit set sandbox_id = null where sequence = 7"], 7],
    ["an edited hash", ["update audit set hash = replace(hash, substr(hash, 1, 1), 'x') where sequence = 7"], 7],
    ["a detail that means the same but is written otherwise", ["update audit set detail = detail || ' ' where sequence = 7"], 7],
    ["a detail that is no text", ["update audit set detail = cast(detail as blob) where sequence = 7"], 7],
    ["a deleted row", ["delete from audit where sequence = 7"], 7],
    ["a deleted first row", ["delete from audit where sequence = 1"], 1],
    [
      "a swapped pair",
      [
        "update audit set sequence = -1 where sequence = 7",
        "update audit set sequence = 7 where sequence = 8",
        "update audit set sequence = 8 where sequence = -1",
      ],
      7,
    ],
    ["rows that changed their order in the timeline", ["update audit set position = 100 where sequence = 7"], 7],
    ["a row put in before the beginning", ["insert into audit select -5, namespace, -5, at_ms, type, actor, sandbox_id, request_id, run_id, detail, hash, mac, chain_bytes from audit where sequence = 7"], -5],
    ["a cut tail", ["delete from audit where sequence > 38"], 39],
    ["a cut tail, with its checkpoint", ["delete from audit where sequence > 38", "delete from audit_checkpoints where sequence > 38"], 39],
    ["an emptied log", ["delete from audit", "delete from audit_checkpoints"], 1],
  ];
  it.each(edits)("[AUD-01] shows %s", async (_what, statements, sequence) => {
    edit(...statements);
    const verdict = await verify();
    expect(verdict.ok).toBe(false);
    expect(verdict.problems[0]?.sequence).toBe(sequence);
  });

  const checkpointEdits: [string, string][] = [
    ["an edited checkpoint", "update audit_checkpoints set at_ms = at_ms + 1 where sequence = 20"],
    ["a moved checkpoint", "update audit_checkpoints set sequence = 21 where sequence = 20"],
    ["a checkpoint that was taken out", "delete from audit_checkpoints where sequence = 20"],
    ["the last checkpoint taken out", "delete from audit_checkpoints where sequence = 40"],
    ["all checkpoints taken out", "delete from audit_checkpoints"],
    ["a checkpoint that passes for an anchor", "update audit_checkpoints set kind = 'anchor' where sequence = 20"],
  ];
  it.each(checkpointEdits)("[AUD-01] shows %s", async (_what, statement) => {
    edit(statement);
    expect((await verify()).ok).toBe(false);
  });

  it("[AUD-01] shows a chain that was computed anew without the key", async () => {
    const db = new DatabaseSync(path);
    let previous = String(db.prepare("select hash from audit where sequence = 29").get()?.hash);
    db.exec("update audit set actor = 'somebody else' where sequence = 30");
    for (const row of db.prepare("select * from audit where sequence >= 30 order by sequence").all()) {
      const { sequence, at_ms: atMs, type, namespace, actor, sandbox_id, request_id, run_id, detail } = row as never;
      const chained = {
        sequence,
        atMs,
        type,
        namespace,
        actor,
        sandboxId: sandbox_id,
        requestId: request_id,
        runId: run_id,
        detail,
      };
      previous = hashRow(previous, chained);
      db.prepare("update audit set hash = ? where sequence = ?").run(previous, sequence);
    }
    db.close();
    const { ok, problems } = await verify();
    expect(ok).toBe(false);
    expect(problems.map(({ sequence }) => sequence)).toContain(40);
  });

  it("[AUD-01] shows a byte that was flipped in the file", async () => {
    edit("PRAGMA wal_checkpoint(TRUNCATE)");
    const bytes = await readFile(path);
    // Pages hold left-overs beside the row: each is a place where it could stand.
    let found = 0;
    for (let at = bytes.indexOf("entry 17"); at !== -1; at = bytes.indexOf("entry 17", at), found++) {
      bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    }
    expect(found).toBeGreaterThan(0);
    await writeFile(path, bytes);
    const { ok, problems } = await verify();
    expect(ok).toBe(false);
    expect(problems[0]?.sequence).toBe(17);
  });

  it("[AUD-01] shows a file that was cut", async () => {
    const bytes = await readFile(path);
    await writeFile(path, bytes.subarray(0, bytes.length - 8192));
    expect(await verify()).toMatchObject({ ok: false });
  });

  it("[AUD-01] shows a head that was taken away, edited, or signed by another", async () => {
    const head = JSON.parse(await readFile(headPath(), "utf8"));
    for (const forged of [
      "",
      "{}",
      JSON.stringify({ ...head, chains: [{ ...head.chains[0], sequence: 30 }] }),
      JSON.stringify({ ...head, chains: [] }),
      JSON.stringify({ ...head, keyId: "x" }),
    ]) {
      await writeFile(headPath(), forged);
      expect((await verify()).ok).toBe(false);
    }
    await rm(headPath());
    expect((await verify()).ok).toBe(false);
    await writeFile(headPath(), JSON.stringify(head));
    expect((await verify()).ok).toBe(true);
  });

  it("[AUD-01] remembers a cut tail after the store was opened again", async () => {
    edit("delete from audit where sequence > 38", "delete from audit_checkpoints where sequence > 38");
    {
      await using store = await openStore({ path });
      await store.audit.record(auditEntry());
      expect(await store.audit.verify()).toMatchObject({ ok: false, problems: [{ sequence: 39 }] });
    }
    const { ok, problems } = await verify();
    expect(ok).toBe(false);
    expect(problems[0]?.what).toContain("rows up to 40 had been written and were gone");
  });

  it("[AUD-01] shows that an older copy was put in its place, to whoever noted the end", async () => {
    const older = await mkdtemp("/var/tmp/caisson-audit-");
    await cp(folder, older, { recursive: true });
    {
      await using store = await openStore({ path });
      await store.audit.record(auditEntry());
    }
    const [chain] = (await verify()).chains;
    const { last = 0, hash = "" } = chain ?? {};
    const noted = { namespace: "default", sequence: last, hash };
    expect(await verify({ expected: [noted] })).toMatchObject({ ok: true });
    await rm(folder, { recursive: true });
    await cp(older, folder, { recursive: true });
    await rm(older, { recursive: true });
    expect(await verify()).toMatchObject({ ok: true, chains: [{ last: 40 }] });
    expect(await verify({ expected: [noted] })).toMatchObject({ ok: false, problems: [{ sequence: 41 }] });
    expect(await verify({ expected: [{ ...noted, sequence: 12 }] })).toMatchObject({
      ok: false,
      problems: [{ sequence: 12 }],
    });
  });

  describe("that was pruned", () => {
    beforeEach(async () => {
      await using store = await openStore({ path, clock: { ...systemClock, wallMs: () => Date.now() + 1_000 } });
      await store.audit.record(auditEntry());
      // The rows of the template are from before; the new one and that of the pruning itself stay.
      expect(await store.audit.prune(() => Date.now() + 500)).toBe(40);
    });

    it("[AUD-04] verifies", async () => {
      expect(await verify()).toMatchObject({ ok: true, rows: 2, chains: [{ pruned: 40, first: 41 }], problems: [] });
    });

    const edits: [string, string][] = [
      ["an anchor that was edited", "update audit_checkpoints set at_ms = at_ms + 1 where kind = 'anchor'"],
      ["an anchor that was taken out", "delete from audit_checkpoints where kind = 'anchor'"],
      [
        "an anchor that was moved, with the row behind it gone",
        "update audit_checkpoints set sequence = 41, hash = (select hash from audit where sequence = 41) where kind = 'anchor'; delete from audit where sequence = 41",
      ],
      ["a row that is missing behind it", "delete from audit where sequence = 41"],
    ];
    it.each(edits)("[AUD-04] shows %s", async (_what, statements) => {
      edit(statements);
      expect((await verify()).ok).toBe(false);
    });
  });
});
