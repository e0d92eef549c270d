import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { emitWarning } from "node:process";
import { Kysely } from "kysely";
import { type Clock, systemClock } from "../lib/clock.ts";
import { StoredAudit } from "./audit/audit-log.ts";
import { headPathOf } from "./audit/head-file.ts";
import { StoredBatch } from "./batch.ts";
import { storeLimits } from "./limits.ts";
import { openClient } from "./open-client.ts";
import { openRecords } from "./records.ts";
import type { Schema } from "./schema.ts";
import { openSigner, type SigningKey } from "./signing-key.ts";
import type { SqliteClient } from "./sqlite-client.ts";
import { SqliteDialect } from "./sqlite-dialect.ts";
import type { Store } from "./store.ts";

export interface StoreOptions {
  /** Of the database file; its folder is made. */
  path: string;
  /** Opened already; it is the store's then. */
  client?: Promise<SqliteClient>;
  /** Signs the audit log's checkpoints; the key of the same folder unless given. */
  signer?: SigningKey | Promise<SigningKey>;
  clock?: Clock;
  /** Told of what went wrong beside a call; a warning of the process unless given. */
  onError?: (error: unknown) => void;
  /** The size at which the database's log turns over, when it is not the usual one. */
  walBytes?: number;
}

/** Opens the store, and creates it if there is none. Close it: the audit log's end is signed then. */
export async function openStore({
  path,
  clock = systemClock,
  onError = warn,
  walBytes,
  ...rest
}: StoreOptions): Promise<Store> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const opening = rest.client ?? openClient({ path, ...(walBytes === undefined ? {} : { walBytes }) }, onError);
  const [client, signer] = await bothOpened(opening, rest.signer ?? openSigner(folder));
  const db = new Kysely<Schema>({ dialect: new SqliteDialect(client) });
  try {
    const audit = await StoredAudit.open({ client, db, signer, path, headPath: headPathOf(path), clock, onError });
    return {
      ...openRecords(db, clock),
      audit,
      batch: () => new StoredBatch(client, clock),
      checkWritable: () => checkWritable(db),
      [Symbol.asyncDispose]: () =>
        audit
          .close()
          .catch(onError)
          .finally(() => client.close()),
    };
  } catch (error) {
    await client.close();
    throw error;
  }
}

async function bothOpened(opening: Promise<SqliteClient>, signing: SigningKey | Promise<SigningKey>) {
  opening.catch(() => undefined);
  try {
    const signer = await signing;
    return [await opening, signer] as const;
  } catch (error) {
    await opening.then(
      (client) => client.close(),
      () => undefined,
    );
    throw error;
  }
}

/** As much as a request may write: where there is less room than that, most of them fail. */
async function checkWritable(db: Kysely<Schema>): Promise<void> {
  const body = "0".repeat(storeLimits.probeBytes);
  const row = { name: "readiness", request_hash: "", status: 0, body, created_at_ms: 0 };
  await db
    .insertInto("idempotency_records")
    .values(row)
    .onConflict((conflict) => conflict.column("name").doUpdateSet(row))
    .execute();
}

function warn(error: unknown): void {
  emitWarning(error instanceof Error ? error : String(error));
}
