import type { Kysely } from "kysely";
import type { Batch } from "../core/batch.ts";
import type { ImageChanges, ImageRecord, ImageRecords } from "../core/image-record.ts";
import { buildLimits } from "../images/limits.ts";
import { change } from "./batch.ts";
import { mapRows } from "./columns.ts";
import type { Schema } from "./schema.ts";

const mapping = mapRows<ImageRecord, "aliases" | "config">(["aliases", "config"]);

export class StoredImages implements ImageRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(record: ImageRecord, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.insertInto("images").values(mapping.toRow(record)), within);
  }

  async update(id: string, changes: ImageChanges, within?: Batch): Promise<void> {
    const statement = this.#db.updateTable("images").set(mapping.toChanges(changes)).where("id", "=", id);
    await change(this.#db, statement, within);
  }

  async list(): Promise<ImageRecord[]> {
    const query = this.#db.selectFrom("images").selectAll();
    const rows = await query.orderBy("created_at_ms", "desc").orderBy("id", "desc").limit(buildLimits.images).execute();
    return rows.map((row) => mapping.toRecord(row));
  }

  async delete(id: string, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.deleteFrom("images").where("id", "=", id), within);
  }
}
