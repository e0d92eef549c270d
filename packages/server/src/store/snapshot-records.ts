import type { Kysely } from "kysely";
import type { SnapshotQuery, SnapshotRecord, SnapshotRecords, SnapshotUsage } from "../core/snapshot.ts";
import { storeLimits } from "../core/store-limits.ts";
import { mapRows } from "./columns.ts";
import { lostCursor } from "./lost-cursor.ts";
import type { Schema } from "./schema.ts";

const mapping = mapRows<SnapshotRecord>();

export class StoredSnapshots implements SnapshotRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(record: SnapshotRecord): Promise<void> {
    await this.#db.insertInto("snapshots").values(mapping.toRow(record)).execute();
  }

  async get(id: string): Promise<SnapshotRecord | undefined> {
    const row = await this.#db.selectFrom("snapshots").selectAll().where("id", "=", id).executeTakeFirst();
    return row === undefined ? undefined : mapping.toRecord(row);
  }

  async list({ namespace, sandboxId, cursor, limit }: SnapshotQuery): Promise<SnapshotRecord[]> {
    let query = this.#db.selectFrom("snapshots").selectAll().where("namespace", "=", namespace);
    if (sandboxId !== undefined) query = query.where("sandbox_id", "=", sandboxId);
    if (cursor !== undefined) {
      const last = await this.get(cursor);
      if (last === undefined || last.namespace !== namespace) throw lostCursor();
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple("created_at_ms", "id"), "<", tuple(last.createdAtMs, last.id)),
      );
    }
    const rows = await query
      .orderBy("created_at_ms", "desc")
      .orderBy("id", "desc")
      .limit(Math.min(limit, storeLimits.listed.max))
      .execute();
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

  async delete(id: string): Promise<void> {
    await this.#db.deleteFrom("snapshots").where("id", "=", id).execute();
  }

  async manifests(): Promise<string[]> {
    const rows = await this.#db.selectFrom("snapshots").select("manifest").distinct().execute();
    return rows.map(({ manifest }) => manifest);
  }
}
