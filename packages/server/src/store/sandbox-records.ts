import type { Kysely } from "kysely";
import type { Batch } from "../core/batch.ts";
import { AppError } from "../core/errors.ts";
import type { SandboxQuery, SandboxRecord, SandboxRecords } from "../core/sandbox-record.ts";
import { change } from "./batch.ts";
import { mapRows } from "./columns.ts";
import { newestFirst, type PageStart } from "./newest-first.ts";
import type { Schema } from "./schema.ts";

const json = ["limits", "env", "labels", "template"] as const;
const mapping = mapRows<SandboxRecord, (typeof json)[number]>(json);

export class StoredSandboxes implements SandboxRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(record: SandboxRecord, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.insertInto("sandboxes").values(mapping.toRow(record)), within);
  }

  async update(id: string, changes: Partial<Omit<SandboxRecord, "id" | "namespace">>, within?: Batch): Promise<void> {
    const columns = mapping.toChanges(changes);
    if (Object.keys(columns).length === 0) return;
    const none = new AppError("not_found", `no record of sandbox ${id}`);
    const statement = this.#db.updateTable("sandboxes").set(columns).where("id", "=", id);
    if (!(await change(this.#db, statement, within, none))) throw none;
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
    const after = cursor === undefined ? undefined : await this.#start(cursor, namespace);
    const rows = await newestFirst(query, after, limit).execute();
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

  async delete(id: string, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.deleteFrom("sandboxes").where("id", "=", id), within);
  }

  async #start(cursor: string, namespace: string | undefined): Promise<PageStart> {
    const last = await this.get(cursor);
    return last !== undefined && (namespace === undefined || last.namespace === namespace) ? last : null;
  }
}
