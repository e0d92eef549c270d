import type { Kysely } from "kysely";
import { AppError } from "../core/errors.ts";
import type { SandboxQuery, SandboxRecord, SandboxRecords } from "../core/sandbox-record.ts";
import { storeLimits } from "../core/store-limits.ts";
import { mapRows } from "./columns.ts";
import { lostCursor } from "./lost-cursor.ts";
import type { Schema } from "./schema.ts";

const mapping = mapRows<SandboxRecord, "limits" | "env" | "labels">(["limits", "env", "labels"]);

export class StoredSandboxes implements SandboxRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(record: SandboxRecord): Promise<void> {
    await this.#db.insertInto("sandboxes").values(mapping.toRow(record)).execute();
  }

  async update(id: string, changes: Partial<Omit<SandboxRecord, "id" | "namespace">>): Promise<void> {
    const columns = mapping.toChanges(changes);
    if (Object.keys(columns).length === 0) return;
    const result = await this.#db.updateTable("sandboxes").set(columns).where("id", "=", id).executeTakeFirst();
    if (result.numUpdatedRows === 0n) throw new AppError("not_found", `there is no record of sandbox ${id}`);
  }

  async get(id: string): Promise<SandboxRecord | undefined> {
    const row = await this.#db.selectFrom("sandboxes").selectAll().where("id", "=", id).executeTakeFirst();
    return row === undefined ? undefined : mapping.toRecord(row);
  }

  async list({ namespace, status, sessionKey, cursor, limit }: SandboxQuery): Promise<SandboxRecord[]> {
    let query = this.#db.selectFrom("sandboxes").selectAll();
    if (namespace !== undefined) query = query.where("namespace", "=", namespace);
    if (status !== undefined) query = query.where("status", "=", status);
    if (sessionKey !== undefined) query = query.where("session_key", "=", sessionKey);
    if (cursor !== undefined) {
      const last = await this.get(cursor);
      if (last === undefined || (namespace !== undefined && last.namespace !== namespace)) throw lostCursor();
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

  async living(): Promise<SandboxRecord[]> {
    const rows = await this.#db
      .selectFrom("sandboxes")
      .selectAll()
      .where("status", "<>", "destroyed")
      .orderBy("created_at_ms")
      .orderBy("id")
      .execute();
    return rows.map((row) => mapping.toRecord(row));
  }

  async delete(id: string): Promise<void> {
    await this.#db.deleteFrom("sandboxes").where("id", "=", id).execute();
  }
}
