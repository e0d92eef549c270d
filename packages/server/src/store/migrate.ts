import { type Kysely, sql } from "kysely";
import { AppError } from "../core/errors.ts";
import type { Schema } from "./schema.ts";

/** A step of the schema. In SQL that SQLite and PostgreSQL share; `integer` has 64 bits (`bigint`, where it has not). */
export interface Migration {
  number: number;
  name: string;
  statements: readonly string[];
}

const table = `create table if not exists schema_migrations (
  number integer primary key, name text not null, applied_at_ms bigint not null)`;

/** Brings the schema up to what this program knows, all of it or nothing. */
export async function migrate(db: Kysely<Schema>, migrations: readonly Migration[]): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await sql.raw(table).execute(transaction);
    const rows = await transaction.selectFrom("schema_migrations").select("number").execute();
    const applied = new Set(rows.map(({ number }) => number));
    const newest = Math.max(0, ...applied);
    const known = Math.max(0, ...migrations.map(({ number }) => number));
    if (newest > known)
      throw new AppError(
        "unsupported",
        `the store was written by a newer Caisson (schema ${newest}, known: ${known})`,
        {
          hint: "start that version, or put back the copy of the store from before it",
        },
      );
    for (const { number, name, statements } of migrations) {
      if (applied.has(number)) continue;
      for (const statement of statements) await sql.raw(statement).execute(transaction);
      const row = { number, name, applied_at_ms: Date.now() };
      await transaction.insertInto("schema_migrations").values(row).execute();
    }
  });
}
