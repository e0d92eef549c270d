import { DatabaseSync } from "node:sqlite";
import { storeLimits } from "../core/store-limits.ts";
import type { ChainHead, Reply, Request } from "./sqlite-protocol.ts";
import { isStep, type Step, Writer } from "./writer.ts";

/**
 * Commits what is small on the caller's own thread: for a request that comes alone, the way to the worker and back takes
 * longer than its commit. Whatever does not go through at once is undone, and is the worker's.
 */
export class DirectCommit {
  readonly #db: DatabaseSync;
  readonly #writer: Writer;
  #pausedUntilMs = 0;

  /** After the worker has opened the database. */
  constructor(path: string) {
    this.#db = new DatabaseSync(path, { timeout: 0, enableForeignKeyConstraints: true });
    this.#db.exec("PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF; PRAGMA wal_autocheckpoint = 0");
    this.#db.exec(`PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON; PRAGMA cache_size = -${cacheKiB}`);
    this.#writer = new Writer(this.#db);
  }

  /** The answers of all, committed; undefined when nothing of it was written. */
  commit(batch: readonly Request[]): Reply[] | undefined {
    if (batch.length > storeLimits.direct.requests || !batch.every(isSmall)) return undefined;
    const startMs = performance.now();
    if (startMs < this.#pausedUntilMs) return undefined;
    try {
      this.#writer.begin();
      const replies = batch.map((step) => ({ id: step.id, answer: this.#writer.step(step as Step) }));
      this.#writer.commit();
      return replies;
    } catch {
      this.#writer.rollback();
      return undefined;
    } finally {
      const tookMs = performance.now() - startMs;
      // The disk holds it up: the event loop shall wait for it a small part of the time at most.
      if (tookMs > storeLimits.direct.slowMs) this.#pausedUntilMs = startMs + tookMs * storeLimits.direct.pauseTimes;
    }
  }

  /** Where the audit log ends, as far as it is known here. */
  get head(): ChainHead | undefined {
    return this.#writer.head;
  }

  /** What the worker has committed of the audit log. */
  follow(head: ChainHead): void {
    this.#writer.follow(head);
  }

  close(): void {
    this.#db.close();
  }
}

const cacheKiB = storeLimits.direct.cacheBytes / 1024;

const ofOneRow = /^(update|delete from) .* where "id" = \?$/;

/** Rows that are added, one that is changed or goes, and no transaction of several steps. */
function isSmall(request: Request): boolean {
  if (!isStep(request) || request.transaction !== undefined || request.op === "read") return false;
  if (request.op === "append") return true;
  if (!request.sql.startsWith("insert into") && !ofOneRow.test(request.sql)) return false;
  let size = 0;
  for (const value of request.parameters)
    if (typeof value === "string" || value instanceof Uint8Array) size += value.length;
  return size <= storeLimits.direct.characters;
}
