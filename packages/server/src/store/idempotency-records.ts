import type { Kysely } from "kysely";
import type { IdempotencyRecord, IdempotencyRecords } from "../core/idempotency.ts";
import type { Clock } from "../lib/clock.ts";
import { storeLimits } from "./limits.ts";
import type { Schema } from "./schema.ts";

export class StoredIdempotency implements IdempotencyRecords {
  readonly #db: Kysely<Schema>;
  readonly #clock: Clock;
  #prunedAtMs = 0;

  constructor(db: Kysely<Schema>, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  async get(name: string): Promise<IdempotencyRecord | undefined> {
    const row = await this.#db
      .selectFrom("idempotency_records")
      .select(["name", "request_hash", "status", "body"])
      .where("name", "=", name)
      .where("created_at_ms", ">", this.#expiredMs())
      .executeTakeFirst();
    if (row === undefined) return undefined;
    return { name: row.name, requestHash: row.request_hash, status: row.status, body: row.body };
  }

  async put({ name, requestHash, status, body }: IdempotencyRecord): Promise<void> {
    const row = { name, request_hash: requestHash, status, body, created_at_ms: this.#clock.wallMs() };
    const expiredMs = this.#expiredMs();
    await this.#db
      .insertInto("idempotency_records")
      .values(row)
      .onConflict((conflict) =>
        conflict.column("name").doUpdateSet(row).where("idempotency_records.created_at_ms", "<=", expiredMs),
      )
      .execute();
    if (row.created_at_ms - this.#prunedAtMs < storeLimits.pruneIntervalMs) return;
    this.#prunedAtMs = row.created_at_ms;
    await this.#db.deleteFrom("idempotency_records").where("created_at_ms", "<=", expiredMs).execute();
  }

  #expiredMs(): number {
    return this.#clock.wallMs() - storeLimits.idempotencyMs;
  }
}
