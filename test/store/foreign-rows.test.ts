import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readAuditKey } from "../../packages/server/src/store/audit/row-mac.ts";
import { verifyFile } from "../../packages/server/src/store/audit/verify-file.ts";
import { auditLimits } from "../../packages/server/src/store/limits.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { auditEntry } from "./entries.ts";
import { forgeRows } from "./forge.ts";

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp("/var/tmp/caisson-foreign-");
  path = join(folder, "caisson.db");
  await using store = await openStore({ path });
  for (let at = 0; at < 3; at++) await store.audit.record(auditEntry());
  await store.audit.record(auditEntry({ namespace: "other" }));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function verify() {
  const keys = [readAuditKey(await readFile(join(folder, "signing-key.pem"), "utf8"))];
  return verifyFile({ path, keys, headNeeded: true });
}

function query(sql: string): Record<string, unknown>[] {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = db.prepare(sql).all();
  db.close();
  return rows;
}

/** Types of the chain's rows, after the store was opened again and has recorded one more. */
async function typesAfterStart(namespace = "default"): Promise<string[]> {
  await using store = await openStore({ path });
  await store.audit.record(auditEntry({ namespace, type: "later" }));
  const rows = await store.audit.search({ after: 0, namespace });
  expect(rows.map(({ sequence }) => sequence)).toEqual(rows.map((_row, at) => at + 1));
  return rows.map(({ type }) => type);
}

const own = ["sandbox.created", "sandbox.created", "sandbox.created"];

describe("rows that somebody without the signing key put into the audit log", () => {
  it("[AUD-01] (S99) while no daemon ran do not verify, and no daemon signs them", async () => {
    forgeRows(path, "default", 2);
    const before = await verify();
    expect(before.problems).toMatchObject([{ namespace: "default", sequence: 4 }, { sequence: 5 }]);
    expect(await typesAfterStart()).toEqual([...own, "audit.broken", "later"]);
    const [problem, ...others] = (await verify()).problems;
    expect(problem).toMatchObject({ namespace: "default", sequence: 4 });
    expect(problem?.what).toContain("2 rows behind row 3 were not written by this daemon");
    expect(others).toEqual([]);
    expect(query("select namespace, sequence from audit_foreign")).toEqual([
      { namespace: "default", sequence: 4 },
      { namespace: "default", sequence: 5 },
    ]);
    expect(String(query("select row from audit_foreign")[0]?.row)).toContain("'approval.approved'");
  });

  it("[AUD-01] (S99) while a daemon runs are set aside as it needs their place, and nothing of its own is lost", async () => {
    {
      await using store = await openStore({ path });
      await store.audit.record(auditEntry());
      forgeRows(path, "default", 3);
      expect((await store.audit.verify()).problems[0]).toMatchObject({ sequence: 5 });
      const batch = store.batch();
      batch.record(auditEntry({ type: "later" }));
      batch.record(auditEntry({ namespace: "other", type: "later" }));
      expect(await batch.commit()).toMatchObject([{ sequence: 6 }, { sequence: 2 }]);
      const rows = await store.audit.search({ after: 0, namespace: "default" });
      expect(rows.map(({ type }) => type)).toEqual([...own, "sandbox.created", "audit.broken", "later"]);
    }
    const { problems } = await verify();
    expect(problems).toMatchObject([{ namespace: "default", sequence: 5 }]);
    expect(problems[0]?.what).toContain("3 rows that this daemon did not write");
    expect(query("select sequence from audit_foreign")).toHaveLength(3);
  });

  it("[AUD-01] (S99) as a chain of their own are set aside, and the log says so in that namespace", async () => {
    forgeRows(path, "invented", 2);
    expect((await verify()).problems).toMatchObject([
      { namespace: "invented", sequence: 1 },
      { namespace: "invented", sequence: 2 },
    ]);
    expect(await typesAfterStart("invented")).toEqual(["audit.broken", "later"]);
  });

  it("[AUD-01] (S99) in the place of rows that were cut off are set aside with them named as gone", async () => {
    const db = new DatabaseSync(path);
    db.exec("delete from audit where namespace = 'default' and sequence > 1");
    db.close();
    forgeRows(path, "default", 4);
    expect(await typesAfterStart()).toEqual(["sandbox.created", "audit.broken", "audit.broken", "later"]);
  });

  it("[AUD-01] (S99) do not pass with the MAC of another row", async () => {
    const [row] = query("select mac from audit where sequence = 3");
    forgeRows(path, "default", 1, { mac: String(row?.mac) });
    expect((await verify()).problems).toMatchObject([{ sequence: 4 }]);
    expect(await typesAfterStart()).toEqual([...own, "audit.broken", "later"]);
  });

  it("[AUD-01] (S99) are kept apart up to a limit, and counted beyond it", async () => {
    forgeRows(path, "default", auditLimits.foreignRows + 500);
    await typesAfterStart();
    expect((await verify()).problems[0]?.what).toContain(`${auditLimits.foreignRows + 500} rows behind row 3`);
    expect(query("select id from audit_foreign")).toHaveLength(auditLimits.foreignRows);
  });
});
