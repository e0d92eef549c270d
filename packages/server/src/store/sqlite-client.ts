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
  /** Something was committed here that the worker has not been told of. */
  #isUntold = false;
  /** It is told of it soon, or was, and has not said that it is on the disk. */
  #isSyncing = false;
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
      if ("replies" in message) client.#hear(message.replies);
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

  /** One that comes after the row that it is about is what that row has waited for. */
  append(entry: AuditEntry, atMs: number): Promise<ChainHead> {
    const isAwaited = this.#outbox.at(-1)?.op === "write" && !this.#isBusy;
    const appended = this.#ask<ChainHead>({ op: "append", entry, atMs });
    if (isAwaited) this.#post();
    return appended;
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
    this.#tellCommitted();
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
    if (this.#isBusy) setImmediate(() => this.#post());
    else queueMicrotask(() => nextTick(() => this.#post()));
  }

  get #isBusy(): boolean {
    return performance.now() - this.#postedMs < storeLimits.direct.busyMs;
  }

  #post(): void {
    const batch = this.#outbox;
    if (batch.length === 0 || this.#ended !== undefined) return;
    this.#postedMs = performance.now();
    this.#outbox = [];
    // Past what may wait for the disk the worker has them, which sees that its log stays small.
    const mayCommit = this.#pending.size === batch.length && this.#unsyncedRequests < storeLimits.direct.unsynced;
    const replies = mayCommit ? this.#direct?.commit(batch) : undefined;
    if (replies !== undefined) {
      this.#unsyncedRequests += batch.length;
      this.#isUntold = true;
      this.#tellSoon();
      return this.#settle(replies);
    }
    try {
      this.#tellCommitted();
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

  /** Before whatever else it is asked, which must find it there. */
  #tellCommitted(): void {
    if (!this.#isUntold || this.#direct === undefined || this.#ended !== undefined) return;
    this.#isUntold = false;
    this.#tell({ committed: this.#direct.head });
  }

  /** The worker brings it to the disk. It hears of it when whoever waited for the commit is done: to wake a thread takes as long as a commit. */
  #tellSoon(): void {
    if (this.#isSyncing) return;
    this.#isSyncing = true;
    setImmediate(() => setTimeout(() => this.#tellCommitted(), storeLimits.direct.tellMs));
  }

  #synced(): void {
    this.#isSyncing = false;
    this.#unsyncedRequests = 0;
    if (this.#isUntold) this.#tellSoon();
  }

  /** Of the worker. */
  #hear(replies: readonly Reply[]): void {
    for (const reply of replies)
      if ("answer" in reply && reply.answer !== null && "hash" in reply.answer) this.#direct?.follow(reply.answer);
    this.#settle(replies);
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
