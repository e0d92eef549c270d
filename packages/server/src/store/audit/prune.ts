import type { Kysely } from "kysely";
import type { Signer } from "../../core/manifest.ts";
import type { Clock } from "../../lib/clock.ts";
import { StoredBatch } from "../batch.ts";
import { auditLimits } from "../limits.ts";
import type { Schema } from "../schema.ts";
import type { SqliteClient } from "../sqlite-client.ts";
import { fromRow, signCheckpoint, toRow } from "./checkpoint.ts";

export interface PruneParts {
  client: SqliteClient;
  db: Kysely<Schema>;
  signer: Signer;
  clock: Clock;
}

/** Rows from before a time; of those, where it is given, the oldest up to so many bytes of all that the chain has had. */
export interface Old {
  beforeMs: number;
  throughBytes?: number;
}

export interface Pruned {
  rows: number;
  /** The last of them. */
  through: number;
  /** Size of all rows that were ever removed from the chain. */
  floorBytes: number;
}

/** The last of the oldest rows of a chain, a slice at most, that are all old. */
async function sliceOf(db: Kysely<Schema>, namespace: string, old: Old) {
  const rows = db.selectFrom("audit").where("namespace", "=", namespace);
  const first = await rows.select("sequence").orderBy("sequence").limit(1).executeTakeFirst();
  if (first === undefined) return undefined;
  const end = first.sequence + auditLimits.pruneRows;
  const slice = rows.where("sequence", "<", end).orderBy("sequence").select("sequence").limit(1);
  const { beforeMs, throughBytes = Number.MAX_SAFE_INTEGER } = old;
  const kept = await slice
    .where((row) => row.or([row("at_ms", ">=", beforeMs), row("chain_bytes", ">", throughBytes)]))
    .executeTakeFirst();
  return await rows
    .select(["position", "sequence", "hash", "chain_bytes"])
    .where("sequence", "<", kept?.sequence ?? end)
    .orderBy("sequence", "desc")
    .limit(1)
    .executeTakeFirst();
}

/**
 * Removes the oldest rows of a chain, up to the first one that is not old. With each slice goes an anchor: the signed hash
 * that the first row left is chained to.
 */
export async function pruneChain(
  { client, db, signer, clock }: PruneParts,
  namespace: string,
  old: Old,
): Promise<Pruned> {
  const pruned = { rows: 0, through: 0, floorBytes: 0 };
  for (;;) {
    const last = await sliceOf(db, namespace, old);
    if (last === undefined) return pruned;
    const { position, sequence, hash, chain_bytes: floorBytes } = last;
    const previous = await anchorOf(db, namespace);
    const anchor = signCheckpoint(signer, {
      kind: "anchor",
      namespace,
      sequence,
      hash,
      atMs: clock.wallMs(),
      previous,
    });
    const batch = new StoredBatch(client, clock);
    batch.write(db.insertInto("audit_checkpoints").values(toRow(anchor)).compile());
    for (const [table, upTo] of [
      ["audit", sequence],
      ["audit_checkpoints", sequence - 1],
    ] as const) {
      const rows = db.deleteFrom(table).where("namespace", "=", namespace).where("sequence", "<=", upTo);
      batch.write(rows.compile());
    }
    const contents = db.deleteFrom("audit_contents").where("namespace", "=", namespace);
    batch.write(contents.where("position", "<=", position).compile());
    await batch.commit();
    pruned.rows += sequence - previous;
    pruned.through = sequence;
    pruned.floorBytes = floorBytes;
  }
}

async function anchorOf(db: Kysely<Schema>, namespace: string): Promise<number> {
  const anchors = db.selectFrom("audit_checkpoints").selectAll().where("namespace", "=", namespace);
  const row = await anchors.where("kind", "=", "anchor").orderBy("sequence", "desc").limit(1).executeTakeFirst();
  return row === undefined ? 0 : fromRow({ ...row }).sequence;
}
