import type { Kysely } from "kysely";
import type { SkillQuery, SkillRecord, SkillRecords } from "../core/skill.ts";
import { storeLimits } from "../core/store-limits.ts";
import { mapRows } from "./columns.ts";
import { lostCursor } from "./lost-cursor.ts";
import type { Schema } from "./schema.ts";

const mapping = mapRows<SkillRecord>();

export class StoredSkills implements SkillRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(record: SkillRecord): Promise<boolean> {
    const result = await this.#db
      .insertInto("skills")
      .values(mapping.toRow(record))
      .onConflict((conflict) => conflict.columns(["namespace", "id"]).doNothing())
      .executeTakeFirst();
    return result.numInsertedOrUpdatedRows === 1n;
  }

  async get(namespace: string, id: string): Promise<SkillRecord | undefined> {
    const row = await this.#db
      .selectFrom("skills")
      .selectAll()
      .where("namespace", "=", namespace)
      .where("id", "=", id)
      .executeTakeFirst();
    return row === undefined ? undefined : mapping.toRecord(row);
  }

  async list({ namespace, name, cursor, limit }: SkillQuery): Promise<SkillRecord[]> {
    let query = this.#db.selectFrom("skills").selectAll().where("namespace", "=", namespace);
    if (name !== undefined) query = query.where("name", "=", name);
    if (cursor !== undefined) {
      const last = await this.get(namespace, cursor);
      if (last === undefined) throw lostCursor();
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

  async count(namespace: string): Promise<number> {
    const row = await this.#db
      .selectFrom("skills")
      .where("namespace", "=", namespace)
      .select(({ fn }) => fn.countAll<number>().as("rows"))
      .executeTakeFirstOrThrow();
    return Number(row.rows);
  }

  async delete(namespace: string, id: string): Promise<void> {
    await this.#db.deleteFrom("skills").where("namespace", "=", namespace).where("id", "=", id).execute();
  }

  async manifests(): Promise<string[]> {
    const rows = await this.#db.selectFrom("skills").select("id").distinct().execute();
    return rows.map(({ id }) => id);
  }
}
