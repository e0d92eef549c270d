import type { Kysely } from "kysely";
import type { TemplateChanges, TemplateRecord, TemplateRecords } from "../core/template.ts";
import { mapRows } from "./columns.ts";
import type { Schema } from "./schema.ts";

const json = ["image", "limits", "env", "network", "packages", "warmUp", "memory"] as const;
const mapping = mapRows<TemplateRecord, (typeof json)[number]>(json);

export class StoredTemplates implements TemplateRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(record: TemplateRecord): Promise<void> {
    await this.#db.insertInto("templates").values(mapping.toRow(record)).execute();
  }

  async update(id: string, changes: TemplateChanges): Promise<void> {
    await this.#db.updateTable("templates").set(mapping.toChanges(changes)).where("id", "=", id).execute();
  }

  async list(): Promise<TemplateRecord[]> {
    const query = this.#db.selectFrom("templates").selectAll();
    const rows = await query.orderBy("created_at_ms", "desc").orderBy("id", "desc").execute();
    return rows.map((row) => mapping.toRecord(row));
  }

  async delete(id: string): Promise<void> {
    await this.#db.deleteFrom("templates").where("id", "=", id).execute();
  }
}
