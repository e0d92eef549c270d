import type { Kysely } from "kysely";
import type { Clock } from "../../core/clock.ts";
import type { Signer } from "../../core/manifest.ts";
import { auditLimits } from "../../core/store-limits.ts";
import type { Schema } from "../schema.ts";
import { signCheckpoint } from "./checkpoint.ts";
import { insertCheckpoint, newestCheckpoint } from "./checkpoint-rows.ts";

export interface PruneParts {
  db: Kysely<Schema>;
  signer: Signer;
  clock: Clock;
}

export interface Pruned {
  rows: number;
  /** The last of them. */
  through: number;
}

/** The last of the oldest rows, a slice at most, that were all written before a time. */
async function sliceBefore(db: Kysely<Schema>, beforeMs: number) {
  const first = await db.selectFrom("audit").select("sequence").orderBy("sequence").limit(1).executeTakeFirst();
  if (first === undefined) return undefined;
  const end = first.sequence + auditLimits.pruneRows;
  const slice = db.selectFrom("audit").where("sequence", "<", end).orderBy("sequence");
  const kept = await slice.where("at_ms", ">=", beforeMs).select("sequence").limit(1).executeTakeFirst();
  return await db
    .selectFrom("audit")
    .select(["sequence", "hash"])
    .where("sequence", "<", kept?.sequence ?? end)
    .orderBy("sequence", "desc")
    .limit(1)
    .executeTakeFirst();
}

/**
 * Removes the oldest rows, up to the first one that was written at `beforeMs` or later. With each slice goes an anchor:
 * the signed hash that the first row left is chained to.
 */
export async function pruneAudit({ db, signer, clock }: PruneParts, beforeMs: number): Promise<Pruned> {
  const pruned = { rows: 0, through: 0 };
  for (;;) {
    const last = await sliceBefore(db, beforeMs);
    if (last === undefined) return pruned;
    const previous = (await newestCheckpoint(db, "anchor"))?.sequence ?? 0;
    const anchor = signCheckpoint(signer, { ...last, kind: "anchor", atMs: clock.wallMs(), previous });
    await db.transaction().execute(async (transaction) => {
      await insertCheckpoint(transaction, anchor);
      await transaction.deleteFrom("audit").where("sequence", "<=", anchor.sequence).execute();
      await transaction.deleteFrom("audit_checkpoints").where("sequence", "<", anchor.sequence).execute();
    });
    pruned.rows += anchor.sequence - previous;
    pruned.through = anchor.sequence;
  }
}
