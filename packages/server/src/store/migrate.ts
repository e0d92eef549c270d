import type { DatabaseSync } from "node:sqlite";
import { AppError } from "../core/errors.ts";

/** One step of the schema, in plain SQL. */
export interface Migration {
  number: number;
  name: string;
  statements: readonly string[];
}

/** Where a store keeps which of them it has. */
const migrationsTable = `create table if not exists schema_migrations (
  number integer primary key, name text not null, applied_at_ms bigint not null)`;

/** Those that a store with these numbers lacks. */
function lacking(migrations: readonly Migration[], applied: readonly number[]): readonly Migration[] {
  const newest = Math.max(0, ...applied);
  const known = Math.max(0, ...migrations.map(({ number }) => number));
  if (newest > known)
    throw new AppError("unsupported", `the store was written by a newer Caisson (schema ${newest}, known: ${known})`, {
      hint: "start that version, or put back the copy of the store from before it",
    });
  return migrations.filter(({ number }) => !applied.includes(number));
}

/** Refuses a store that is newer than this program, which must not write there. */
export function requireKnown(db: DatabaseSync, migrations: readonly Migration[]): void {
  if (db.prepare("select 1 from sqlite_schema where name = 'schema_migrations'").get() === undefined) return;
  lacking(migrations, numbersIn(db));
}

function numbersIn(db: DatabaseSync): number[] {
  return db
    .prepare("select number from schema_migrations")
    .all()
    .map(({ number }) => Number(number));
}

/** Brings the schema up to what this program knows, all of it or nothing. Whether there was something to do. */
export function migrate(db: DatabaseSync, migrations: readonly Migration[]): boolean {
  db.exec("begin immediate");
  try {
    db.exec(migrationsTable);
    const steps = lacking(migrations, numbersIn(db));
    const note = db.prepare("insert into schema_migrations (number, name, applied_at_ms) values (?, ?, ?)");
    for (const { number, name, statements } of steps) {
      for (const statement of statements) db.exec(statement);
      note.run(number, name, Date.now());
    }
    db.exec("commit");
    return steps.length > 0;
  } catch (error) {
    if (db.isTransaction) db.exec("rollback");
    throw error;
  }
}
