import type { Kysely } from "kysely";
import type { Batch } from "../core/batch.ts";
import type { SkillQuery, SkillRecord, SkillRecords } from "../core/skill.ts";
import { change, changedMeanwhile } from "./batch.ts";
import { mapRows } from "./columns.ts";
import { newestFirst } from "./newest-first.ts";
import type { Schema } from "./schema.ts";

const mapping = mapRows<SkillRecord>();

export class StoredSkills implements SkillRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  insert(record: SkillRecord, within?: Batch): Promise<boolean> {
    const statement = this.#db
      .insertInto("skills")
      .values(mapping.toRow(record))
      .onConflict((conflict) => conflict.doNothing());
    return change(this.#db, statement, within, changedMeanwhile(`skill ${record.name}`));
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

  async list({ namespace, name, version, cursor, limit }: SkillQuery): Promise<SkillRecord[]> {
    let query = this.#db.selectFrom("skills").selectAll().where("namespace", "=", namespace);
    if (name !== undefined) query = query.where("name", "=", name);
    if (version !== undefined) query = query.where("version", "=", version);
    const after = cursor === undefined ? undefined : ((await this.get(namespace, cursor)) ?? null);
    const rows = await newestFirst(query, after, limit).execute();
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

  async delete(namespace: string, id: string, within?: Batch): Promise<void> {
    const statement = this.#db.deleteFrom("skills").where("namespace", "=", namespace).where("id", "=", id);
    await change(this.#db, statement, within);
  }

  async manifests(): Promise<string[]> {
    const rows = await this.#db.selectFrom("skills").select("id").distinct().execute();
    return rows.map(({ id }) => id);
  }
}
