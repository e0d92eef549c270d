import { type Kysely, sql } from "kysely";
import type { Batch } from "../core/batch.ts";
import { AppError } from "../core/errors.ts";
import { recordLimits } from "../core/limits.ts";
import type { AddedRuns, RunBounds, RunQuery, RunRecord, RunRecords } from "../core/run-record.ts";
import { change } from "./batch.ts";
import { storeLimits } from "./limits.ts";
import { runJson } from "./run-json.ts";
import type { Schema } from "./schema.ts";

/** How far something is past its bounds. */
interface Excess {
  records: number;
  bytes: number;
}

interface Row {
  sequence: number;
  bytes: number;
}

/** Records of runs, in the order in which the runs ended. */
export class StoredRuns implements RunRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(namespace: string, record: RunRecord, within?: Batch): Promise<number> {
    const json = runJson(record);
    const bytes = Buffer.byteLength(json);
    const ended_at_ms = Math.trunc(Date.parse(record.started_at) + record.duration_ms);
    const { run_id, sandbox_id } = record;
    const statement = this.#db
      .insertInto("runs")
      .values({ run_id, namespace, sandbox_id, ended_at_ms, bytes, record: json })
      .onConflict((conflict) => conflict.column("run_id").doNothing());
    await change(this.#db, statement, within);
    return bytes;
  }

  async get(namespace: string, runId: string): Promise<RunRecord | undefined> {
    const rows = this.#db.selectFrom("runs").select("record").where("run_id", "=", runId);
    const row = await rows.where("namespace", "=", namespace).executeTakeFirst();
    return row === undefined ? undefined : JSON.parse(row.record);
  }

  async list({ sandboxId, cursor, limit }: RunQuery): Promise<RunRecord[]> {
    let query = this.#db.selectFrom("runs").select("record").where("sandbox_id", "=", sandboxId);
    if (cursor !== undefined) query = query.where("sequence", "<", await this.#sequenceOf(sandboxId, cursor));
    const rows = await query.orderBy("sequence", "desc").limit(Math.min(limit, storeLimits.listed.max)).execute();
    return rows.map(({ record }) => JSON.parse(record));
  }

  async prune({ namespace, sandboxes }: AddedRuns, bounds: RunBounds): Promise<void> {
    for (const sandboxId of sandboxes.keys()) await this.#cut(sandboxId, bounds);
    const excess = await this.#excess(namespace, bounds);
    await this.#removeGone(namespace, excess);
    for (const [sandboxId, added] of sandboxes) {
      if (!isOver(excess)) return;
      await this.#removeOwn(sandboxId, added, excess);
    }
  }

  async expire(beforeMs: number): Promise<void> {
    for (;;) {
      const old = this.#db.selectFrom("runs").select("sequence").where("ended_at_ms", "<", beforeMs);
      const some = old.limit(recordLimits.removedAtOnce);
      const { numDeletedRows } = await this.#db.deleteFrom("runs").where("sequence", "in", some).executeTakeFirst();
      if (numDeletedRows < recordLimits.removedAtOnce) return;
    }
  }

  async #sequenceOf(sandboxId: string, runId: string): Promise<number> {
    const rows = this.#db.selectFrom("runs").select("sequence").where("run_id", "=", runId);
    const row = await rows.where("sandbox_id", "=", sandboxId).executeTakeFirst();
    if (row !== undefined) return row.sequence;
    throw new AppError("not_found", "the entry at the cursor no longer exists", {
      hint: "list again from the first page",
    });
  }

  /** All that is past the sandbox's own bounds; its newest record stays. */
  async #cut(sandboxId: string, { keep, sandboxBytes }: RunBounds): Promise<void> {
    await sql`delete from runs where sandbox_id = ${sandboxId} and sequence <= (
      select max(sequence) from (
        select sequence, row_number() over newest as place, sum(bytes) over newest as total
        from runs where sandbox_id = ${sandboxId} window newest as (order by sequence desc)
      ) where place > ${keep} or (place > 1 and total > ${sandboxBytes}))`.execute(this.#db);
  }

  async #excess(namespace: string, { namespaceRecords, namespaceBytes }: RunBounds): Promise<Excess> {
    const row = await this.#db
      .selectFrom("runs")
      .where("namespace", "=", namespace)
      .select(({ fn }) => [fn.countAll<number>().as("records"), fn.sum<number | null>("bytes").as("bytes")])
      .executeTakeFirstOrThrow();
    return { records: Number(row.records) - namespaceRecords, bytes: Number(row.bytes ?? 0) - namespaceBytes };
  }

  /** The oldest of sandboxes that are gone, as long as it is too much. */
  async #removeGone(namespace: string, excess: Excess): Promise<void> {
    while (isOver(excess)) {
      const rows = await this.#db
        .selectFrom("runs")
        .select(["sequence", "bytes"])
        .where("namespace", "=", namespace)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("sandboxes")
                .select("id")
                .whereRef("sandboxes.id", "=", "runs.sandbox_id")
                .where("status", "<>", "destroyed"),
            ),
          ),
        )
        .orderBy("sequence")
        .limit(recordLimits.removedAtOnce)
        .execute();
      await this.#remove(taken(rows, excess));
      if (rows.length < recordLimits.removedAtOnce) return;
    }
  }

  /** As much of the sandbox's own as it has added; its newest record stays. */
  async #removeOwn(sandboxId: string, added: Excess, excess: Excess): Promise<void> {
    const rows = await this.#db
      .selectFrom("runs")
      .select(["sequence", "bytes"])
      .where("sandbox_id", "=", sandboxId)
      .orderBy("sequence")
      .limit(recordLimits.removedAtOnce)
      .execute();
    const own = { ...added };
    const mine = taken(rows.slice(0, -1), own).filter((row) => isOver(excess) && subtract(excess, row));
    await this.#remove(mine);
  }

  async #remove(rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    const sequences = rows.map(({ sequence }) => sequence);
    await this.#db.deleteFrom("runs").where("sequence", "in", sequences).execute();
  }
}

function isOver({ records, bytes }: Excess): boolean {
  return records > 0 || bytes > 0;
}

function subtract(excess: Excess, { bytes }: Row): true {
  excess.records -= 1;
  excess.bytes -= bytes;
  return true;
}

/** Of the rows, in their order, as many as it takes; what is left of the excess stays in it. */
function taken(rows: readonly Row[], excess: Excess): Row[] {
  return rows.filter((row) => isOver(excess) && subtract(excess, row));
}
