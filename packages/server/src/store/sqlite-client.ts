import { nextTick } from "node:process";
import { Worker } from "node:worker_threads";
import type { AuditEntry } from "../core/audit.ts";
import { AppError } from "../core/errors.ts";
import { storeLimits } from "../core/store-limits.ts";
import { DirectCommit } from "./direct-commit.ts";
import { toAppError } from "./sqlite-error.ts";
import type {
  Answer,
  Ask,
  ChainHead,
  ErrorNote,
  FromWorker,
  QueryAnswer,
  Reply,
  Request,
  SqlValue,
  ToWorker,
  WorkerOptions,
} from "./sqlite-protocol.ts";
import { workerUrl } from "./worker-url.ts";

interface Pending {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** The worker's other end. Requests of one turn of the event loop travel in one message, or are committed here if nothing is before them. */
export class SqliteClient {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #outbox: Request[] = [];
  #lastId = 0;
  #ended: AppError | undefined;
  #postedMs = Number.NEGATIVE_INFINITY;
  #direct: DirectCommit | undefined;
  /** What was committed here and is not known to be on the disk: the worker has been told of it, or not yet of all. */
  #unsynced: "none" | "told" | "more" = "none";
  #unsyncedRequests = 0;

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  static async open(options: WorkerOptions): Promise<SqliteClient> {
    const worker = new Worker(workerUrl, { workerData: options });
    const client = new SqliteClient(worker);
    const opened = Promise.withResolvers<void>();
    const fail = (error: AppError) => {
      opened.reject(error);
      client.#end(error);
    };
    worker.on("message", (message: FromWorker) => {
      if ("replies" in message) client.#settle(message.replies);
      else if ("synced" in message) client.#synced();
      else if ("ready" in message) opened.resolve();
      else fail(toAppError(message.failed));
    });
    worker.on("error", (error) => fail(new AppError("internal", "the store's thread failed", { cause: error })));
    worker.on("exit", () => fail(new AppError("unavailable", "the store is closed")));
    try {
      await opened.promise;
      if (options.readOnly !== true) client.#direct = new DirectCommit(options.path);
    } catch (error) {
      await worker.terminate();
      throw error;
    }
    return client;
  }

  query(op: "read" | "write", sql: string, parameters: readonly SqlValue[], transaction?: number) {
    return this.#ask<QueryAnswer>({ op, sql, parameters, ...(transaction === undefined ? {} : { transaction }) });
  }

  append(entry: AuditEntry, atMs: number): Promise<ChainHead> {
    return this.#ask<ChainHead>({ op: "append", entry, atMs });
  }

  async begin(): Promise<number> {
    return (await this.#ask<{ transaction: number }>({ op: "begin" })).transaction;
  }

  async end(op: "commit" | "rollback", transaction: number): Promise<void> {
    await this.#ask<null>({ op, transaction });
  }

  /** Resolves when all that is committed is on the disk. */
  async sync(): Promise<void> {
    await this.#ask<null>({ op: "sync" });
  }

  async close(): Promise<void> {
    this.#direct?.close();
    this.#direct = undefined;
    if (this.#ended !== undefined) return void (await this.#worker.terminate());
    const exited = new Promise((resolve) => this.#worker.once("exit", resolve));
    await this.#ask<null>({ op: "close" });
    await exited;
  }

  #ask<A extends Answer>(ask: Ask): Promise<A> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    if (this.#pending.size >= storeLimits.pending) return Promise.reject(tooBusy());
    const id = ++this.#lastId;
    if (this.#outbox.length === 0) this.#postSoon();
    this.#outbox.push({ ...ask, id });
    return new Promise<A>((resolve, reject) => {
      this.#pending.set(id, { resolve: (answer) => resolve(answer as A), reject });
    });
  }

  /**
   * After all microtasks of this turn: what a caller asks together comes here in several of them. While much comes, after
   * all turns that are due: what several callers ask shares a commit.
   */
  #postSoon(): void {
    if (performance.now() - this.#postedMs < storeLimits.direct.busyMs) setImmediate(() => this.#post());
    else queueMicrotask(() => nextTick(() => this.#post()));
  }

  #post(): void {
    this.#postedMs = performance.now();
    const batch = this.#outbox;
    this.#outbox = [];
    if (this.#ended !== undefined) return;
    // Past what may wait for the disk the worker has them, which sees that its log stays small.
    const mayCommit = this.#pending.size === batch.length && this.#unsyncedRequests < storeLimits.direct.unsynced;
    const replies = mayCommit ? this.#direct?.commit(batch) : undefined;
    if (replies !== undefined) {
      this.#unsyncedRequests += batch.length;
      this.#tellSoon();
      return this.#settle(replies);
    }
    try {
      if (this.#unsynced !== "none" && batch.some(({ op }) => op === "sync" || op === "close")) this.#tell("committed");
      this.#tell(batch);
    } catch (error) {
      // An entry that cannot be sent as it is; those beside it fail with it.
      const note: ErrorNote = { message: `cannot be stored: ${String(error)}`, refused: "invalid" };
      this.#settle(batch.map(({ id }) => ({ id, error: note })));
    }
  }

  #tell(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  /** The worker brings it to the disk. It hears of it when whoever waited for the commit is done: to wake a thread takes as long as a commit. */
  #tellSoon(): void {
    if (this.#unsynced === "none")
      setTimeout(() => {
        if (this.#direct !== undefined) this.#tell("committed");
      }, storeLimits.direct.tellMs);
    this.#unsynced = this.#unsynced === "none" ? "told" : "more";
  }

  #synced(): void {
    const isMore = this.#unsynced === "more";
    this.#unsynced = "none";
    this.#unsyncedRequests = 0;
    if (isMore) this.#tellSoon();
  }

  #settle(replies: readonly Reply[]): void {
    for (const reply of replies) {
      const pending = this.#pending.get(reply.id);
      this.#pending.delete(reply.id);
      if ("error" in reply) pending?.reject(toAppError(reply.error));
      else pending?.resolve(reply.answer);
    }
  }

  #end(error: AppError): void {
    this.#ended ??= error;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}

function tooBusy(): AppError {
  return new AppError("unavailable", `${storeLimits.pending} requests wait for the store`, { retryAfterMs: 1_000 });
}
