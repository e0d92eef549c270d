import type { Kysely } from "kysely";
import type { Batch } from "../core/batch.ts";
import type { KeptArtifacts, KeptArtifactsQuery, KeptArtifactsRecords } from "../core/kept-artifacts.ts";
import { change } from "./batch.ts";
import { mapRows } from "./columns.ts";
import { storeLimits } from "./limits.ts";
import { newestFirst } from "./newest-first.ts";
import type { Schema } from "./schema.ts";

const mapping = mapRows<KeptArtifacts>();

export class StoredKeptArtifacts implements KeptArtifactsRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async put(record: KeptArtifacts, within?: Batch): Promise<void> {
    const row = mapping.toRow(record);
    const statement = this.#db
      .insertInto("kept_artifacts")
      .values(row)
      .onConflict((conflict) => conflict.column("id").doUpdateSet(row));
    await change(this.#db, statement, within);
  }

  async get(id: string): Promise<KeptArtifacts | undefined> {
    const row = await this.#db.selectFrom("kept_artifacts").selectAll().where("id", "=", id).executeTakeFirst();
    return row === undefined ? undefined : mapping.toRecord(row);
  }

  async list({ namespace, cursor, limit }: KeptArtifactsQuery): Promise<KeptArtifacts[]> {
    const last = cursor === undefined ? undefined : await this.get(cursor);
    const after = cursor === undefined ? undefined : last?.namespace === namespace ? last : null;
    const query = this.#db.selectFrom("kept_artifacts").selectAll().where("namespace", "=", namespace);
    return (await newestFirst(query, after, limit).execute()).map((row) => mapping.toRecord(row));
  }

  async usage(namespace: string): Promise<{ count: number; totalBytes: number }> {
    const row = await this.#db
      .selectFrom("kept_artifacts")
      .where("namespace", "=", namespace)
      .select(({ fn }) => [fn.countAll<number>().as("rows"), fn.sum<number | null>("total_bytes").as("bytes")])
      .executeTakeFirstOrThrow();
    return { count: Number(row.rows), totalBytes: Number(row.bytes ?? 0) };
  }

  async delete(id: string, expiredAtMs?: number, within?: Batch): Promise<void> {
    let query = this.#db.deleteFrom("kept_artifacts").where("id", "=", id);
    if (expiredAtMs !== undefined) query = query.where("expires_at_ms", "<=", expiredAtMs);
    await change(this.#db, query, within);
  }

  async expired(nowMs: number): Promise<KeptArtifacts[]> {
    const rows = await this.#db
      .selectFrom("kept_artifacts")
      .selectAll()
      .where("expires_at_ms", "<=", nowMs)
      .orderBy("expires_at_ms")
      .limit(storeLimits.listed.max)
      .execute();
    return rows.map((row) => mapping.toRecord(row));
  }

  async manifests(nowMs?: number): Promise<string[]> {
    let query = this.#db.selectFrom("kept_artifacts").select("manifest").distinct();
    if (nowMs !== undefined) query = query.where("expires_at_ms", ">", nowMs);
    const rows = await query.execute();
    return rows.map(({ manifest }) => manifest);
  }
}
