import type { Kysely } from "kysely";
import type { PackageRecord, PackageRecords } from "../core/package.ts";
import { packageLimits } from "../core/package-limits.ts";
import { mapRows } from "./columns.ts";
import type { Schema } from "./schema.ts";

const mapping = mapRows<PackageRecord>();

export class StoredPackages implements PackageRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async put(records: readonly PackageRecord[]): Promise<void> {
    for (const record of records) {
      const { sandbox_id: _, manager: __, name: ___, ...changes } = mapping.toRow(record);
      await this.#db
        .insertInto("packages")
        .values(mapping.toRow(record))
        .onConflict((conflict) => conflict.columns(["sandbox_id", "manager", "name"]).doUpdateSet(changes))
        .execute();
    }
  }

  async list(sandboxId: string): Promise<PackageRecord[]> {
    const query = this.#db.selectFrom("packages").selectAll().where("sandbox_id", "=", sandboxId);
    const rows = await query.orderBy("manager").orderBy("name").limit(packageLimits.listed).execute();
    return rows.map((row) => mapping.toRecord(row));
  }

  async deleteSandbox(sandboxId: string): Promise<void> {
    await this.#db.deleteFrom("packages").where("sandbox_id", "=", sandboxId).execute();
  }

  async sandboxes(): Promise<string[]> {
    const rows = await this.#db.selectFrom("packages").select("sandbox_id").distinct().execute();
    return rows.map(({ sandbox_id }) => sandbox_id);
  }
}
