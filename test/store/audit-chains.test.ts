import { copyFile, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readHead } from "../../packages/server/src/store/audit/head-file.ts";
import { readAuditKey } from "../../packages/server/src/store/audit/row-mac.ts";
import { verifyFile } from "../../packages/server/src/store/audit/verify-file.ts";
import { auditLimits } from "../../packages/server/src/store/limits.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import type { Store } from "../../packages/server/src/store/store.ts";
import { until } from "../fleet/fixture.ts";
import { auditEntry, databaseFiles } from "./entries.ts";

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp("/var/tmp/caisson-chains-");
  path = join(folder, "caisson.db");
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const key = async () => readAuditKey(await readFile(join(folder, "signing-key.pem"), "utf8"));
const verify = async () => verifyFile({ path, keys: [await key()], headNeeded: true });
const head = () => readHead(join(folder, "audit-head.json"));

async function record(store: Store, ...namespaces: string[]): Promise<void> {
  for (const namespace of namespaces) await store.audit.record(auditEntry({ namespace }));
}

function change(...statements: string[]): void {
  const db = new DatabaseSync(path);
  for (const statement of statements) db.exec(statement);
  db.close();
}

/** Sequences of signed checkpoints, by namespace. */
function checkpoints(): Record<string, number[]> {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = db.prepare("select namespace, sequence from audit_checkpoints order by namespace, sequence").all();
  db.close();
  const found: Record<string, number[]> = {};
  for (const { namespace, sequence } of rows)
    found[String(namespace)] = [...(found[String(namespace)] ?? []), Number(sequence)];
  return found;
}

describe("the chains of the audit log", () => {
  it("[AUD-01] are one for each namespace, in one timeline", async () => {
    {
      await using store = await openStore({ path });
      await record(store, "a", "b", "a", "a", "b");
      const rows = await store.audit.search({ after: 0 });
      expect(rows.map(({ namespace, sequence }) => `${namespace}${sequence}`)).toEqual(["a1", "b1", "a2", "a3", "b2"]);
      expect(rows.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5]);
      expect((await store.audit.search({ after: 2, namespace: "a" })).map(({ sequence }) => sequence)).toEqual([2, 3]);
    }
    const verdict = await verify();
    expect(verdict).toMatchObject({
      ok: true,
      rows: 5,
      chains: [
        { namespace: "a", rows: 3, last: 3 },
        { namespace: "b", rows: 2, last: 2 },
      ],
    });
    const expected = verdict.chains.map(({ namespace, last, hash }) => ({ namespace, sequence: last, hash }));
    expect(await verifyFile({ path, keys: [await key()], headNeeded: true, expected })).toMatchObject({ ok: true });
    const other = [{ ...expected[0], namespace: "gone", sequence: 3, hash: "0" }];
    expect(await verifyFile({ path, keys: [await key()], headNeeded: true, expected: other })).toMatchObject({
      ok: false,
      problems: [{ namespace: "gone", sequence: 1 }],
    });
  });

  it("[AUD-01] verify one without the rows of another", async () => {
    await using store = await openStore({ path });
    await record(store, "a", "b");
    change("update audit set actor = 'somebody else' where namespace = 'a'");
    expect(await store.audit.verify("b")).toMatchObject({ ok: true, chains: [{ namespace: "b" }], problems: [] });
    expect(await store.audit.verify("a")).toMatchObject({ ok: false, problems: [{ namespace: "a", sequence: 1 }] });
    expect(await store.audit.verify("none")).toMatchObject({ ok: true, rows: 0 });
    expect((await store.audit.verify()).ok).toBe(false);
  });

  it("[AUD-01] show that one is gone whole, and the next daemon says so in it", async () => {
    await using(await openStore({ path }), (store) => record(store, "a", "b", "b"));
    change("delete from audit where namespace = 'b'", "delete from audit_checkpoints where namespace = 'b'");
    expect((await verify()).problems[0]).toMatchObject({ namespace: "b", sequence: 1 });
    {
      await using store = await openStore({ path });
      await record(store, "a", "b");
      expect(await store.audit.verify("a")).toMatchObject({ ok: true });
    }
    expect((await verify()).problems).toMatchObject([{ namespace: "b", sequence: 1 }]);
  });

  it("[AUD-01] are signed as they grow: the first checkpoint soon, none for one that stands still", async () => {
    {
      await using store = await openStore({ path });
      await record(store, "a", "b");
      await until(async () => Object.keys(checkpoints()).length === 2);
      await record(store, "a");
    }
    expect(checkpoints()).toEqual({ a: [1, 2], b: [1] });
    expect((await head())?.chains).toMatchObject([
      { namespace: "a", sequence: 2, previous: 2 },
      { namespace: "b", sequence: 1, previous: 1 },
    ]);
  });

  it("[AUD-01] are signed some at a time when there are many", async () => {
    const names = Array.from({ length: auditLimits.checkpointsAtOnce + 44 }, (_, at) => `n${at}`);
    {
      await using store = await openStore({ path });
      await Promise.all(names.map((namespace) => store.audit.record(auditEntry({ namespace }))));
      await until(async () => Object.keys(checkpoints()).length === names.length);
    }
    expect((await head())?.chains).toHaveLength(names.length);
    expect(await verify()).toMatchObject({ ok: true, rows: names.length });
  });

  it("[AUD-04] are pruned one by one, each for its time", async () => {
    await using store = await openStore({ path });
    await record(store, "a", "b", "a", "b");
    const nowMs = Date.now();
    expect(await store.audit.prune((namespace) => (namespace === "a" ? nowMs + 60_000 : 0))).toBe(2);
    expect(await store.audit.verify()).toMatchObject({
      ok: true,
      chains: [
        { namespace: "a", pruned: 2, first: 3, last: 3 },
        { namespace: "b", pruned: 0, first: 1, last: 2 },
      ],
    });
    expect((await store.audit.search({ namespace: "a" }))[0]).toMatchObject({ type: "audit.pruned" });
  });

  it("[AUD-01] verify with the public key alone, which says for how many rows nothing vouches", async () => {
    const { publicKey } = await using(await openStore({ path }), async (store) => {
      await record(store, "a");
      await until(async () => Object.keys(checkpoints()).length === 1);
      await record(store, "a", "a", "a");
      await mkdir(join(folder, "copy"));
      for (const name of databaseFiles) await copyFile(join(folder, name), join(folder, "copy", name));
      return key();
    });
    const copy = { path: join(folder, "copy/caisson.db"), headNeeded: false };
    expect(await verifyFile({ ...copy, keys: [{ publicKey }] })).toMatchObject({
      ok: true,
      chains: [{ rows: 4, unvouched: 3 }],
    });
    expect(await verifyFile({ ...copy, keys: [await key()] })).toMatchObject({ ok: true, chains: [{ unvouched: 0 }] });
  });

  it("[AUD-01] go on after a daemon's key was replaced, and say so", async () => {
    await using(await openStore({ path }), (store) => record(store, "a", "a"));
    const former = await key();
    await rm(join(folder, "signing-key.pem"));
    await using(await openStore({ path }), (store) => record(store, "a"));
    const { problems, rows } = await verifyFile({ path, keys: [former, await key()], headNeeded: true });
    expect(rows).toBe(4);
    expect(problems).toMatchObject([{ namespace: "system", sequence: 1 }]);
    expect(problems[0]?.what).toContain("is signed by a key that is not known");
  });
});

async function using<T>(store: Store, act: (store: Store) => Promise<T>): Promise<T> {
  await using open = store;
  return await act(open);
}
