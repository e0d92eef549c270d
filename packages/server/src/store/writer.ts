import type { DatabaseSync } from "node:sqlite";
import { Chain } from "./audit/chain.ts";
import type { Answer, Request } from "./sqlite-protocol.ts";
import { StatementCache } from "./statement-cache.ts";

export type Step = Extract<Request, { op: "read" | "write" | "append" }>;

export const isStep = (request: Request): request is Step =>
  request.op === "read" || request.op === "write" || request.op === "append";

/** Steps and their transaction on one connection. The audit chain goes on from what is in the database, whoever wrote it. */
export class Writer {
  readonly #db: DatabaseSync;
  readonly #statements: StatementCache;
  readonly #chain: Chain;
  #dataVersion: unknown;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#statements = new StatementCache(db);
    this.#chain = new Chain(db);
  }

  get isOpen(): boolean {
    return this.#db.isTransaction;
  }

  begin(): void {
    this.#statements.get("BEGIN IMMEDIATE").statement.run();
    const { data_version } = this.#statements.get("PRAGMA data_version").statement.get() ?? {};
    if (data_version !== this.#dataVersion) this.#chain.forget();
    this.#dataVersion = data_version;
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
    this.#statements.get("COMMIT").statement.run();
  }

  rollback(): void {
    this.#chain.forget();
    if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
  }
}
