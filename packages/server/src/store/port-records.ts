import type { Kysely } from "kysely";
import type { Batch } from "../core/batch.ts";
import type { PortRecords, SharedPort } from "../core/port.ts";
import { change } from "./batch.ts";
import { mapRows } from "./columns.ts";
import type { Schema } from "./schema.ts";

const rows = mapRows<SharedPort, never>([]);

/** Ports that are more than private. */
export class StoredPorts implements PortRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async all(): Promise<SharedPort[]> {
    return (await this.#db.selectFrom("ports").selectAll().execute()).map((row) => rows.toRecord(row));
  }

  async put(port: SharedPort, within?: Batch): Promise<void> {
    const row = rows.toRow(port);
    if (port.visibility === "private") {
      const { sandbox_id, port: number } = row;
      const found = this.#db.deleteFrom("ports").where("sandbox_id", "=", sandbox_id).where("port", "=", number);
      await change(this.#db, found, within);
      return;
    }
    const statement = this.#db
      .insertInto("ports")
      .values(row)
      .onConflict((conflict) => conflict.columns(["sandbox_id", "port"]).doUpdateSet(row));
    await change(this.#db, statement, within);
  }

  async deleteOf(sandboxId: string, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.deleteFrom("ports").where("sandbox_id", "=", sandboxId), within);
  }
}
