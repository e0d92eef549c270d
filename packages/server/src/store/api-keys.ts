import type { Kysely } from "kysely";
import type { ApiKey, ApiKeys } from "../core/api-key.ts";
import type { Batch } from "../core/batch.ts";
import { AppError } from "../core/errors.ts";
import { change } from "./batch.ts";
import { mapRows } from "./columns.ts";
import { storeLimits } from "./limits.ts";
import type { Schema } from "./schema.ts";

const mapping = mapRows<ApiKey, "scopes">(["scopes"]);

export class StoredApiKeys implements ApiKeys {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(key: ApiKey, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.insertInto("api_keys").values(mapping.toRow(key)), within);
  }

  byHash(hash: string): Promise<ApiKey | undefined> {
    return this.#find("hash", hash);
  }

  get(id: string): Promise<ApiKey | undefined> {
    return this.#find("id", id);
  }

  async list(namespace?: string): Promise<ApiKey[]> {
    let query = this.#db.selectFrom("api_keys").selectAll();
    if (namespace !== undefined) query = query.where("namespace", "=", namespace);
    const rows = await query.orderBy("created_at_ms").orderBy("id").limit(storeLimits.listed.max).execute();
    return rows.map((row) => mapping.toRecord(row));
  }

  async update(
    id: string,
    changes: Partial<Pick<ApiKey, "revokedAtMs" | "lastUsedAtMs">>,
    within?: Batch,
  ): Promise<void> {
    const columns = mapping.toChanges(changes);
    if (Object.keys(columns).length === 0) return;
    const none = new AppError("not_found", `unknown API key ${id}`);
    const statement = this.#db.updateTable("api_keys").set(columns).where("id", "=", id);
    if (!(await change(this.#db, statement, within, none))) throw none;
  }

  async #find(column: "id" | "hash", value: string): Promise<ApiKey | undefined> {
    const row = await this.#db.selectFrom("api_keys").selectAll().where(column, "=", value).executeTakeFirst();
    return row === undefined ? undefined : mapping.toRecord(row);
  }
}
