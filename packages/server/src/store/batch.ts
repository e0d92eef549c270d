import type { CompiledQuery, Kysely } from "kysely";
import type { AuditEntry, AuditPosition } from "../core/audit.ts";
import type { Batch } from "../core/batch.ts";
import { AppError } from "../core/errors.ts";
import type { Clock } from "../lib/clock.ts";
import { storeLimits } from "./limits.ts";
import type { Schema } from "./schema.ts";
import type { SqliteClient } from "./sqlite-client.ts";
import { toSqlValue } from "./sqlite-dialect.ts";
import { noteOf } from "./sqlite-error.ts";
import type { BatchStep } from "./sqlite-protocol.ts";

/** Gathers compiled statements and entries, and sends them to the store's thread as one request. */
export class StoredBatch implements Batch {
  readonly #client: SqliteClient;
  readonly #clock: Clock;
  readonly #steps: BatchStep[] = [];
  #isCommitted = false;

  constructor(client: SqliteClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  record(entry: AuditEntry): void {
    this.#add({ op: "append", entry });
  }

  /** The batch fails with `otherwise` when the statement changes no row. */
  write({ sql, parameters }: CompiledQuery, otherwise?: AppError): void {
    const required = otherwise === undefined ? {} : { required: noteOf(otherwise) };
    this.#add({ op: "write", sql, parameters: parameters.map(toSqlValue), ...required });
  }

  async commit(): Promise<AuditPosition[]> {
    if (this.#isCommitted) throw new AppError("internal", "a batch is committed once");
    this.#isCommitted = true;
    if (this.#steps.length === 0) return [];
    return await this.#client.batch(this.#steps, this.#clock.wallMs());
  }

  #add(step: BatchStep): void {
    if (this.#isCommitted) throw new AppError("internal", "this batch is committed already");
    if (this.#steps.length >= storeLimits.batch)
      throw new AppError("too_large", `a batch has at most ${storeLimits.batch} steps`);
    this.#steps.push(step);
  }
}

/** A record was not as its change requires. */
export function changedMeanwhile(what: string): AppError {
  return new AppError("conflict", `${what} was changed meanwhile`);
}

/**
 * Runs a statement now, or adds it to a batch. Resolves with whether it changed a row; in a batch with true, and the batch
 * fails with `otherwise` when it does not.
 */
export async function change(
  db: Kysely<Schema>,
  statement: { compile(): CompiledQuery },
  within: Batch | undefined,
  otherwise?: AppError,
): Promise<boolean> {
  const compiled = statement.compile();
  if (within === undefined) return ((await db.executeQuery(compiled)).numAffectedRows ?? 0n) > 0n;
  if (!(within instanceof StoredBatch)) throw new AppError("internal", "this batch is of another store");
  within.write(compiled, otherwise);
  return true;
}
