import type { Kysely } from "kysely";
import type { Batch } from "../core/batch.ts";
import type { CheckpointQuery, CheckpointRecord, CheckpointRecords, KeptCheckpoint } from "../core/checkpoint.ts";
import { change } from "./batch.ts";
import { mapRows } from "./columns.ts";
import { newestFirst, type PageStart } from "./newest-first.ts";
import type { Schema } from "./schema.ts";

const kept = mapRows<KeptCheckpoint, "sandbox" | "policy">(["sandbox", "policy"]);
const shown = mapRows<CheckpointRecord>();
/** What going on needs is large, and no list's. */
const columns = [
  "id",
  "namespace",
  "sandbox_id",
  "name",
  "engine",
  "memory_bytes",
  "created_at_ms",
  "created_by",
] as const;

export class StoredCheckpoints implements CheckpointRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(record: KeptCheckpoint, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.insertInto("checkpoints").values(kept.toRow(record)), within);
  }

  async get(id: string): Promise<KeptCheckpoint | undefined> {
    const row = await this.#db.selectFrom("checkpoints").selectAll().where("id", "=", id).executeTakeFirst();
    return row === undefined ? undefined : kept.toRecord(row);
  }

  async list({ namespace, sandboxId, cursor, limit }: CheckpointQuery): Promise<CheckpointRecord[]> {
    let query = this.#db.selectFrom("checkpoints").select(columns).where("namespace", "=", namespace);
    if (sandboxId !== undefined) query = query.where("sandbox_id", "=", sandboxId);
    const after = cursor === undefined ? undefined : await this.#start(cursor, namespace);
    const rows = await newestFirst(query, after, limit).execute();
    return rows.map((row) => shown.toRecord(row));
  }

  async count(namespace: string): Promise<number> {
    const query = this.#db.selectFrom("checkpoints").where("namespace", "=", namespace);
    const row = await query.select(({ fn }) => fn.countAll<number>().as("rows")).executeTakeFirstOrThrow();
    return Number(row.rows);
  }

  async names(): Promise<Pick<KeptCheckpoint, "id" | "keyName">[]> {
    const rows = await this.#db.selectFrom("checkpoints").select(["id", "key_name"]).execute();
    return rows.map(({ id, key_name: keyName }) => ({ id, keyName }));
  }

  async sizes(limit: number): Promise<{ items: number; bytes: number; largest: CheckpointRecord[] }> {
    const { items, bytes } = await this.#db
      .selectFrom("checkpoints")
      .select(({ fn }) => [fn.countAll<number>().as("items"), fn.sum<number | null>("memory_bytes").as("bytes")])
      .executeTakeFirstOrThrow();
    const largest = this.#db.selectFrom("checkpoints").select(columns).orderBy("memory_bytes", "desc").orderBy("id");
    const rows = await largest.limit(limit).execute();
    return { items: Number(items), bytes: Number(bytes ?? 0), largest: rows.map((row) => shown.toRecord(row)) };
  }

  async delete(id: string, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.deleteFrom("checkpoints").where("id", "=", id), within);
  }

  async #start(cursor: string, namespace: string): Promise<PageStart> {
    const query = this.#db.selectFrom("checkpoints").select(["id", "created_at_ms"]).where("id", "=", cursor);
    const last = await query.where("namespace", "=", namespace).executeTakeFirst();
    return last === undefined ? null : { id: last.id, createdAtMs: last.created_at_ms };
  }
}
