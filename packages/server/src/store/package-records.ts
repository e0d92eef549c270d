import type { Kysely } from "kysely";
import type { Batch } from "../core/batch.ts";
import type { PackageRecord, PackageRecords } from "../core/package.ts";
import { packageLimits } from "../package-install/limits.ts";
import { change } from "./batch.ts";
import { mapRows } from "./columns.ts";
import type { Schema } from "./schema.ts";

const mapping = mapRows<PackageRecord>();

export class StoredPackages implements PackageRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async put(records: readonly PackageRecord[], within?: Batch): Promise<void> {
    for (const record of records) {
      const { sandbox_id: _, manager: __, name: ___, ...changes } = mapping.toRow(record);
      const statement = this.#db
        .insertInto("packages")
        .values(mapping.toRow(record))
        .onConflict((conflict) => conflict.columns(["sandbox_id", "manager", "name"]).doUpdateSet(changes));
      await change(this.#db, statement, within);
    }
  }

  async list(sandboxId: string): Promise<PackageRecord[]> {
    const query = this.#db.selectFrom("packages").selectAll().where("sandbox_id", "=", sandboxId);
    const rows = await query.orderBy("manager").orderBy("name").limit(packageLimits.listed).execute();
    return rows.map((row) => mapping.toRecord(row));
  }

  async deleteSandbox(sandboxId: string, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.deleteFrom("packages").where("sandbox_id", "=", sandboxId), within);
  }

  async sandboxes(): Promise<string[]> {
    const rows = await this.#db.selectFrom("packages").select("sandbox_id").distinct().execute();
    return rows.map(({ sandbox_id }) => sandbox_id);
  }
}
