import type { DatabaseSync, StatementSync } from "node:sqlite";
import { Chain } from "./audit/chain.ts";
import type { Answer, ChainHead, Request } from "./sqlite-protocol.ts";
import { StatementCache } from "./statement-cache.ts";

export type Step = Extract<Request, { op: "read" | "write" | "append" }>;

export const isStep = (request: Request): request is Step =>
  request.op === "read" || request.op === "write" || request.op === "append";

/** Steps and their transaction on one connection. */
export class Writer {
  readonly #db: DatabaseSync;
  readonly #statements: StatementCache;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #chain: Chain;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#statements = new StatementCache(db);
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
    this.#chain = new Chain(db);
  }

  get isOpen(): boolean {
    return this.#db.isTransaction;
  }

  begin(): void {
    this.#begin.run();
    this.#chain.begin();
  }

  step(step: Step): Answer {
    if (step.op === "append") return this.#chain.append(step.entry, step.atMs);
    const { statement, returnsRows } = this.#statements.get(step.sql);
    if (returnsRows) {
      const rows = statement.all(...step.parameters);
      return { rows, changes: step.op === "write" ? rows.length : 0 };
    }
    return { rows: [], changes: Number(statement.run(...step.parameters).changes) };
  }

  commit(): void {
    this.#commit.run();
    this.#chain.commit();
  }

  /** Where the audit log ends, as far as it is known here. */
  get head(): ChainHead | undefined {
    return this.#chain.head;
  }

  rollback(): void {
    if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
  }
}
