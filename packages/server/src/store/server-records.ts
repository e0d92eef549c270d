import type { Kysely } from "kysely";
import type { Batch } from "../core/batch.ts";
import type { ServerRecord, ServerRecords, ServerVersion, VersionChanges } from "../core/server.ts";
import { change } from "./batch.ts";
import { mapRows } from "./columns.ts";
import type { Schema } from "./schema.ts";

/** A version as SQLite has it, which knows no booleans. */
type PlainVersion = Omit<ServerVersion, "held"> & { held: number };

const servers = mapRows<ServerRecord, "config">(["config"]);
const json = ["source", "image", "command", "contact", "packages"] as const;
const versions = mapRows<PlainVersion, (typeof json)[number]>(json);

const plain = <V extends { held?: boolean }>({ held, ...rest }: V) =>
  held === undefined ? rest : { ...rest, held: Number(held) };

export class StoredServers implements ServerRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(record: ServerRecord, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.insertInto("servers").values(servers.toRow(record)), within);
  }

  async update(id: string, changes: Parameters<ServerRecords["update"]>[1], within?: Batch): Promise<void> {
    const statement = this.#db.updateTable("servers").set(servers.toChanges(changes)).where("id", "=", id);
    await change(this.#db, statement, within);
  }

  async list(): Promise<ServerRecord[]> {
    const query = this.#db.selectFrom("servers").selectAll();
    const rows = await query.orderBy("created_at_ms", "desc").orderBy("id", "desc").execute();
    return rows.map((row) => servers.toRecord(row));
  }

  async delete(id: string, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.deleteFrom("server_versions").where("server_id", "=", id), within);
    await change(this.#db, this.#db.deleteFrom("servers").where("id", "=", id), within);
  }

  async insertVersion(version: ServerVersion, within?: Batch): Promise<void> {
    const row = versions.toRow(plain(version) as PlainVersion);
    await change(this.#db, this.#db.insertInto("server_versions").values(row), within);
  }

  async updateVersion(serverId: string, number: number, changes: VersionChanges, within?: Batch): Promise<void> {
    const statement = this.#db
      .updateTable("server_versions")
      .set(versions.toChanges(plain(changes)))
      .where("server_id", "=", serverId)
      .where("number", "=", number);
    await change(this.#db, statement, within);
  }

  async versions(): Promise<ServerVersion[]> {
    const query = this.#db.selectFrom("server_versions").selectAll();
    const rows = await query.orderBy("created_at_ms", "desc").orderBy("number", "desc").execute();
    return rows.map((row) => {
      const { held, ...rest } = versions.toRecord(row);
      return { ...rest, held: held === 1 };
    });
  }

  async deleteVersion(serverId: string, number: number, within?: Batch): Promise<void> {
    const statement = this.#db
      .deleteFrom("server_versions")
      .where("server_id", "=", serverId)
      .where("number", "=", number);
    await change(this.#db, statement, within);
  }
}
