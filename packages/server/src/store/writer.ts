import type { DatabaseSync, StatementSync } from "node:sqlite";
import { Chains } from "./audit/chains.ts";
import { toAppError } from "./sqlite-error.ts";
import type { BatchStep, ChainHead, OperationResult, WorkerRequest } from "./sqlite-protocol.ts";
import { StatementCache } from "./statement-cache.ts";

export type Step = Extract<WorkerRequest, { op: "read" | "write" | "batch" | "open-audit" }>;

export const isStep = (request: WorkerRequest): request is Step =>
  request.op === "read" || request.op === "write" || request.op === "batch" || request.op === "open-audit";

/** Steps and their transaction on one connection. */
export class Writer {
  readonly #db: DatabaseSync;
  readonly #statements: StatementCache;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #chains: Chains;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#statements = new StatementCache(db);
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
    this.#chains = new Chains(db);
  }

  get isOpen(): boolean {
    return this.#db.isTransaction;
  }

  begin(): void {
    this.#begin.run();
    this.#chains.begin();
  }

  step(step: Step): OperationResult {
    if (step.op === "batch") return { appended: this.#batch(step.steps, step.atMs) };
    if (step.op === "open-audit") return this.#chains.open(step);
    const { statement, returnsRows } = this.#statements.get(step.sql);
    if (returnsRows) {
      const rows = statement.all(...step.parameters);
      return { rows, changes: step.op === "write" ? rows.length : 0 };
    }
    return { rows: [], changes: Number(statement.run(...step.parameters).changes) };
  }

  #batch(steps: readonly BatchStep[], atMs: number): ChainHead[] {
    if (steps.length === 1) return this.#doEach(steps, atMs);
    const mark = this.#chains.mark();
    this.#db.exec("SAVEPOINT batch");
    try {
      const appended = this.#doEach(steps, atMs);
      this.#db.exec("RELEASE batch");
      return appended;
    } catch (error) {
      // An error that ended the whole transaction has taken the savepoint too.
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK TO batch; RELEASE batch");
      this.#chains.backTo(mark);
      throw error;
    }
  }

  #doEach(steps: readonly BatchStep[], atMs: number): ChainHead[] {
    const appended: ChainHead[] = [];
    for (const step of steps) {
      if (step.op === "append") appended.push(this.#chains.append(step.entry, atMs));
      else {
        const { changes } = this.#statements.get(step.sql).statement.run(...step.parameters);
        if (changes === 0 && step.required !== undefined) throw toAppError(step.required);
      }
    }
    return appended;
  }

  commit(): void {
    this.#commit.run();
    this.#chains.commit();
  }

  rollback(): void {
    if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
  }
}
