import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verifyFile } from "../../packages/server/src/store/audit/verify-file.ts";
import { migrate } from "../../packages/server/src/store/migrate.ts";
import { migrations } from "../../packages/server/src/store/migrations/all.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { auditEntry, sandboxRecord } from "./entries.ts";

/** The last schema before each that changes rows or moves them to another table, the first of all, and that of today. */
const versions = [1, 5, 10, 13, 15, migrations.length];
const entries = 25;

let written: string;
beforeAll(async () => {
  written = await mkdtemp("/var/tmp/caisson-upgrade-");
  await using store = await openStore({ path: join(written, "caisson.db") });
  for (let at = 1; at <= entries; at++) await store.audit.record(auditEntry({ detail: { at } }));
});
afterAll(() => rm(written, { recursive: true }));

type Row = Record<string, SQLInputValue>;

function insert(db: DatabaseSync, table: string, row: Row): void {
  const names = Object.keys(row);
  const sql = `insert into ${table} (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`;
  db.prepare(sql).run(...Object.values(row));
}

const limits = { memoryBytes: 512, cpus: 0.5, cpuShares: 1024, processes: 64, storageBytes: 1024 };

/** A sandbox as a store of this version has it: the columns that there are by then. */
function sandboxRow(version: number, id: string, more: Row = {}): Row {
  return {
    id,
    namespace: "default",
    status: "running",
    engine: "container",
    image: "host",
    session_key: null,
    limits: JSON.stringify(limits),
    env: '{"NAME":"va\\"lue"}',
    labels: "{}",
    created_at_ms: 1_000,
    last_used_at_ms: 1_000,
    idle_timeout_ms: 60_000,
    expires_at_ms: 100_000,
    paused_at_ms: null,
    origin: "pool",
    failure: null,
    created_by: "key-1",
    ...(version >= 4 ? { output_folder: "results" } : {}),
    ...(version >= 6 ? { keep_artifacts_ms: 5_000 } : {}),
    ...(version >= 12 ? { layer_id: "l1" } : {}),
    ...(version >= 14 ? { template: '{"id":"t1","name":"base","network":{"allow":[],"deny":[]}}' } : {}),
    ...more,
  };
}

const cold = { status: "stopped", session_key: "agent-7", paused_at_ms: 1_500, failure: 'it\'s "full"' };

/** Two whose ids begin alike, and one by itself. */
const skillIds = { alike: ["aaaaaaaaaaaa1", "aaaaaaaaaaaa2"], single: "bbbbbbbbbbbb3" } as const;

function skillRow(version: number, namespace: string, id: string): Row {
  const row = { namespace, id, name: "skill", description: "d", files: 1, total_bytes: 2, created_at_ms: 3 };
  return { ...row, created_by: "key-1", ...(version >= 11 ? { version: `v-${id}` } : {}) };
}

const key = { id: "k1", name: "ci", namespace: "default", role: "agent", hash: "h1", created_at_ms: 1 };

/** A store as the daemon of then left it, with what it logged. */
async function writeStore(path: string, version: number): Promise<void> {
  const db = new DatabaseSync(path);
  db.exec("pragma journal_mode = wal");
  migrate(db, migrations.slice(0, version));
  insert(db, "sandboxes", sandboxRow(version, "b-warm"));
  insert(db, "sandboxes", sandboxRow(version, "a-cold", cold));
  insert(db, "api_keys", key);
  if (version >= 2)
    for (const [namespace, id] of [
      ["default", skillIds.alike[0]],
      ["default", skillIds.alike[1]],
      ["default", skillIds.single],
      ["other", skillIds.alike[0]],
    ] as const)
      insert(db, "skills", skillRow(version, namespace, id));
  if (version >= 3) {
    const both = { namespace: "default", created_at_ms: 1 };
    insert(db, "webhooks", { ...both, id: "w1", url: "http://127.0.0.1:9/", types: "[]", secret: "whsec_AAAA" });
    const delivery = { ...both, id: "m1", webhook_id: "w1", type: "key.created", body: "{}", attempts: 1 };
    insert(db, "webhook_deliveries", { ...delivery, state: "pending", due_at_ms: 7, last_error: "answered 500" });
  }
  // The tables of the log are the same in all of them.
  db.exec(`attach '${join(written, "caisson.db")}' as written`);
  for (const table of ["audit", "audit_checkpoints"]) db.exec(`insert into ${table} select * from written.${table}`);
  db.close();
}

describe.each(versions)("a store that was written with schema %i", (version) => {
  let folder: string;
  let path: string;
  beforeAll(async () => {
    folder = await mkdtemp("/var/tmp/caisson-upgrade-");
    path = join(folder, "caisson.db");
    for (const name of ["signing-key.pem", "audit-head.json"]) await cp(join(written, name), join(folder, name));
    await writeStore(path, version);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("is opened with all that was in it, and keeps it from then on", async () => {
    const layered = version >= 12 ? { layerId: "l1" } : {};
    const template = { id: "t1", name: "base", network: { allow: [], deny: [] } };
    const warm = sandboxRecord("b-warm", {
      ...(version >= 4 ? { outputFolder: "results" } : {}),
      ...(version >= 6 ? { keepArtifactsMs: 5_000 } : {}),
      ...(layered as object),
      ...(version >= 14 ? { template: template as never } : {}),
    });
    const { session_key: sessionKey, paused_at_ms: pausedAtMs, failure } = cold;
    for (let opened = 1; opened <= 2; opened++) {
      await using store = await openStore({ path });
      expect(await store.sandboxes.get("b-warm")).toEqual(warm);
      const stopped = { ...warm, id: "a-cold", status: "stopped", sessionKey, pausedAtMs, failure };
      expect(await store.sandboxes.list({ namespace: "default", sessionKey: "agent-7", limit: 9 })).toEqual([stopped]);
      expect((await store.sandboxes.living()).map(({ id }) => id).sort()).toEqual(["a-cold", "b-warm"]);
      expect(await store.keys.byHash("h1")).toMatchObject({ id: "k1", role: "agent", revokedAtMs: null });
      if (version >= 3) {
        expect(await store.webhooks.list()).toMatchObject([{ id: "w1", types: [], secret: "whsec_AAAA" }]);
        expect(await store.webhooks.due(9)).toMatchObject([{ id: "m1", body: "{}", attempts: 1, dueAtMs: 7 }]);
      }
    }
  });

  it.runIf(version >= 2)("gives each of its skills a version that no other of its name has", async () => {
    await using store = await openStore({ path });
    const versionOf = async (namespace: string, id: string) => (await store.skills.get(namespace, id))?.version;
    const [one, two] = skillIds.alike;
    const given = version >= 11;
    expect(await versionOf("default", one)).toBe(given ? `v-${one}` : one);
    expect(await versionOf("default", two)).toBe(given ? `v-${two}` : two);
    expect(await versionOf("default", skillIds.single)).toBe(given ? "v-bbbbbbbbbbbb3" : "bbbbbbbbbbbb");
    expect(await versionOf("other", one)).toBe(given ? `v-${one}` : "aaaaaaaaaaaa");
  });

  it("[AUD-01] has its log as it was, which goes on behind it and verifies", async () => {
    {
      await using store = await openStore({ path });
      await store.audit.record(auditEntry({ detail: { after: version } }));
      expect(await store.audit.verify()).toMatchObject({ ok: true, first: 1, last: entries + 1, problems: [] });
    }
    const keys = [await readFile(join(folder, "signing-key.pem"), "utf8")];
    const verdict = await verifyFile({ path, keys, headNeeded: true });
    expect(verdict).toMatchObject({ ok: true, rows: entries + 1, problems: [] });
    const db = new DatabaseSync(path, { readOnly: true });
    const details = db.prepare("select detail from audit order by sequence").all();
    expect(details.map(({ detail }) => JSON.parse(String(detail)))).toEqual([
      ...Array.from({ length: entries }, (_, at) => ({ at: at + 1 })),
      { after: version },
    ]);
    db.close();
  });
});
