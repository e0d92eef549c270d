import type { Kysely } from "kysely";
import type { Batch } from "../core/batch.ts";
import type { EgressAttempt } from "../core/egress.ts";
import type { AttemptQuery, AttemptRecords, LoggedAttempt } from "../core/egress-policies.ts";
import { egressLimits } from "../egress/limits.ts";
import { change } from "./batch.ts";
import { mapRows } from "./columns.ts";
import type { Schema } from "./schema.ts";

const mapping = mapRows<Omit<LoggedAttempt, "sequence">>();

/** The last attempts of each namespace. */
export class StoredAttempts implements AttemptRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(namespace: string, attempt: EgressAttempt, within?: Batch): Promise<void> {
    const statement = this.#db.insertInto("egress_attempts").values(mapping.toRow({ ...attempt, namespace }));
    await change(this.#db, statement, within);
  }

  async settle(id: string, end: Parameters<AttemptRecords["settle"]>[1]): Promise<void> {
    const columns = mapping.toChanges(end);
    await this.#db.updateTable("egress_attempts").set(columns).where("id", "=", id).execute();
  }

  async closeOpen(reason: string): Promise<void> {
    const columns = { duration_ms: 0, reason };
    await this.#db.updateTable("egress_attempts").set(columns).where("duration_ms", "is", null).execute();
  }

  async list({ namespace, sandboxId, verdict, fromMs, toMs, before, limit }: AttemptQuery): Promise<LoggedAttempt[]> {
    let query = this.#db.selectFrom("egress_attempts").selectAll().where("namespace", "=", namespace);
    if (sandboxId !== undefined) query = query.where("sandbox_id", "=", sandboxId);
    if (verdict !== undefined) query = query.where("verdict", "=", verdict);
    if (fromMs !== undefined) query = query.where("started_at_ms", ">=", fromMs);
    if (toMs !== undefined) query = query.where("started_at_ms", "<=", toMs);
    if (before !== undefined) query = query.where("sequence", "<", before);
    const rows = await query.orderBy("sequence", "desc").limit(Math.min(limit, egressLimits.logPage.max)).execute();
    return rows.map(({ sequence, ...row }) => ({ sequence, ...mapping.toRecord(row) }));
  }

  async prune(namespace: string, keep: number): Promise<void> {
    const last = await this.#db
      .selectFrom("egress_attempts")
      .select("sequence")
      .where("namespace", "=", namespace)
      .orderBy("sequence", "desc")
      .offset(keep)
      .limit(1)
      .executeTakeFirst();
    if (last === undefined) return;
    await this.#db
      .deleteFrom("egress_attempts")
      .where("namespace", "=", namespace)
      .where("sequence", "<=", last.sequence)
      .execute();
  }
}
