import type { Kysely } from "kysely";
import type { Schema } from "../schema.ts";
import type { ChainHead } from "../sqlite-protocol.ts";
import { genesisHash } from "./chain.ts";
import { type Checkpoint, fromRow, toRow } from "./checkpoint.ts";

export async function newestCheckpoint(
  db: Kysely<Schema>,
  kind: "checkpoint" | "anchor",
): Promise<Checkpoint | undefined> {
  const rows = db.selectFrom("audit_checkpoints").selectAll().where("kind", "=", kind);
  const row = await rows.orderBy("sequence", "desc").limit(1).executeTakeFirst();
  return row === undefined ? undefined : fromRow(row);
}

export async function insertCheckpoint(db: Kysely<Schema>, checkpoint: Checkpoint): Promise<void> {
  await db.insertInto("audit_checkpoints").values(toRow(checkpoint)).execute();
}

/** The hash at a sequence; undefined when no row or anchor stands there. */
export async function hashAt(db: Kysely<Schema>, sequence: number): Promise<string | undefined> {
  const row = await db.selectFrom("audit").select("hash").where("sequence", "=", sequence).executeTakeFirst();
  if (row !== undefined) return row.hash;
  const anchor = await newestCheckpoint(db, "anchor");
  if (anchor === undefined) return sequence === 0 ? genesisHash : undefined;
  return anchor.sequence === sequence ? anchor.hash : undefined;
}

/** Where the chain ends. */
export async function chainHead(db: Kysely<Schema>): Promise<ChainHead> {
  const rows = db.selectFrom("audit").select(["sequence", "hash"]);
  const last = await rows.orderBy("sequence", "desc").limit(1).executeTakeFirst();
  return last ?? (await newestCheckpoint(db, "anchor")) ?? { sequence: 0, hash: genesisHash };
}
