import type { DatabaseSync, StatementSync } from "node:sqlite";
import { Recent } from "../lib/recent.ts";
import { storeLimits } from "./limits.ts";

interface Prepared {
  statement: StatementSync;
  returnsRows: boolean;
}

/** Statements that were used last; the one not used for longest makes room. */
export class StatementCache {
  readonly #db: DatabaseSync;
  readonly #statements = new Recent<Prepared>(storeLimits.statements);

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  get(sql: string): Prepared {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#db.prepare(sql);
    const prepared = { statement, returnsRows: statement.columns().length > 0 };
    this.#statements.set(sql, prepared);
    return prepared;
  }
}
