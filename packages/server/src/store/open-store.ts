import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { Kysely } from "kysely";
import type { Store } from "../core/store.ts";
import { StoredApiKeys } from "./api-keys.ts";
import { StoredAudit } from "./audit/audit-log.ts";
import { StoredIdempotency } from "./idempotency-records.ts";
import { migrate } from "./migrate.ts";
import { migrations } from "./migrations/all.ts";
import { StoredSandboxes } from "./sandbox-records.ts";
import type { Schema } from "./schema.ts";
import { StoredSkills } from "./skill-records.ts";
import { StoredSnapshots } from "./snapshot-records.ts";
import { SqliteClient } from "./sqlite-client.ts";
import { SqliteDialect } from "./sqlite-dialect.ts";
import { StoredWebhooks } from "./webhooks.ts";

export interface StoreOptions {
  /** Of the database file; its folder is made. */
  path: string;
  /** The clock, in ms since 1970. */
  now?: () => number;
}

/** Opens the store, made or migrated if need be. Close it: what follows it would wait for its locks. */
export async function openStore({ path, now = Date.now }: StoreOptions): Promise<Store> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const client = await SqliteClient.open({ path });
  const db = new Kysely<Schema>({ dialect: new SqliteDialect(client) });
  try {
    await migrate(db, migrations);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return {
    sandboxes: new StoredSandboxes(db),
    keys: new StoredApiKeys(db),
    snapshots: new StoredSnapshots(db),
    skills: new StoredSkills(db),
    webhooks: new StoredWebhooks(db),
    idempotency: new StoredIdempotency(db, now),
    audit: new StoredAudit(client, db, now),
    [Symbol.asyncDispose]: () => db.destroy(),
  };
}
