import type { DatabaseSync } from "node:sqlite";
import { AppError } from "../core/errors.ts";
import { createTables } from "./create-tables.ts";

/** Grows with each change of `create-tables.ts`. There are no migrations before 0.1.0: a store of another version is refused. */
const schemaVersion = 24;

/** Creates the tables of a new store, all of them or none. Returns whether it did. */
export function prepareSchema(db: DatabaseSync): boolean {
  db.exec("begin immediate");
  try {
    const isNew = db.prepare("select 1 from sqlite_schema").get() === undefined;
    if (isNew) {
      for (const statement of createTables) db.exec(statement);
      db.exec(`pragma user_version = ${schemaVersion}`);
    } else checkVersion(db);
    db.exec("commit");
    return isNew;
  } catch (error) {
    if (db.isTransaction) db.exec("rollback");
    throw error;
  }
}

function checkVersion(db: DatabaseSync): void {
  const { user_version: version } = db.prepare("pragma user_version").get() as { user_version: number };
  if (version === schemaVersion) return;
  throw new AppError("unsupported", "this data folder was written by another version of Caisson", {
    hint: "set CAISSON_HOME to another folder, or remove this one",
  });
}
