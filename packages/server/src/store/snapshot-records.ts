import type { Kysely } from "kysely";
import type { Batch } from "../core/batch.ts";
import type { SnapshotQuery, SnapshotRecord, SnapshotRecords, SnapshotUsage } from "../core/snapshot.ts";
import { change } from "./batch.ts";
import { mapRows } from "./columns.ts";
import { newestFirst, type PageStart } from "./newest-first.ts";
import type { Schema } from "./schema.ts";

const mapping = mapRows<SnapshotRecord>();

export class StoredSnapshots implements SnapshotRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(record: SnapshotRecord, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.insertInto("snapshots").values(mapping.toRow(record)), within);
  }

  async get(id: string): Promise<SnapshotRecord | undefined> {
    const row = await this.#db.selectFrom("snapshots").selectAll().where("id", "=", id).executeTakeFirst();
    return row === undefined ? undefined : mapping.toRecord(row);
  }

  async list({ namespace, serverId, sandboxId, cursor, limit }: SnapshotQuery): Promise<SnapshotRecord[]> {
    let query = this.#db.selectFrom("snapshots").selectAll().where("namespace", "=", namespace);
    query = serverId === null ? query.where("server_id", "is", null) : query.where("server_id", "=", serverId);
    if (sandboxId !== undefined) query = query.where("sandbox_id", "=", sandboxId);
    const after = cursor === undefined ? undefined : await this.#start(cursor, namespace);
    const rows = await newestFirst(query, after, limit).execute();
    return rows.map((row) => mapping.toRecord(row));
  }

  async usage({ namespace, sandboxId }: Pick<SnapshotQuery, "namespace" | "sandboxId">): Promise<SnapshotUsage> {
    let query = this.#db.selectFrom("snapshots").where("namespace", "=", namespace);
    if (sandboxId !== undefined) query = query.where("sandbox_id", "=", sandboxId);
    const row = await query
      .select(({ fn }) => [fn.countAll<number>().as("rows"), fn.sum<number | null>("added_bytes").as("bytes")])
      .executeTakeFirstOrThrow();
    return { count: Number(row.rows), addedBytes: Number(row.bytes ?? 0) };
  }

  async delete(id: string, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.deleteFrom("snapshots").where("id", "=", id), within);
  }

  async manifests(): Promise<string[]> {
    const rows = await this.#db.selectFrom("snapshots").select("manifest").distinct().execute();
    return rows.map(({ manifest }) => manifest);
  }

  async #start(cursor: string, namespace: string): Promise<PageStart> {
    const last = await this.get(cursor);
    return last?.namespace === namespace ? last : null;
  }
}
