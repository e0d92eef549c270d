import type { Kysely } from "kysely";
import type { Batch } from "../core/batch.ts";
import type { TemplateChanges, TemplateRecord, TemplateRecords } from "../core/template.ts";
import { change } from "./batch.ts";
import { mapRows } from "./columns.ts";
import type { Schema } from "./schema.ts";

const json = ["image", "limits", "env", "network", "packages", "warmUp", "memory"] as const;
const mapping = mapRows<TemplateRecord, (typeof json)[number]>(json);

export class StoredTemplates implements TemplateRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(record: TemplateRecord, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.insertInto("templates").values(mapping.toRow(record)), within);
  }

  async update(id: string, changes: TemplateChanges, within?: Batch): Promise<void> {
    const statement = this.#db.updateTable("templates").set(mapping.toChanges(changes)).where("id", "=", id);
    await change(this.#db, statement, within);
  }

  async list(): Promise<TemplateRecord[]> {
    const query = this.#db.selectFrom("templates").selectAll();
    const rows = await query.orderBy("created_at_ms", "desc").orderBy("id", "desc").execute();
    return rows.map((row) => mapping.toRecord(row));
  }

  async delete(id: string, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.deleteFrom("templates").where("id", "=", id), within);
  }
}
