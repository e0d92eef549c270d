import { nextTick } from "node:process";
import { Worker } from "node:worker_threads";
import type { AuditPosition } from "../core/audit.ts";
import { AppError } from "../core/errors.ts";
import { storeLimits } from "./limits.ts";
import { toAppError } from "./sqlite-error.ts";
import type {
  Appended,
  BatchStep,
  ChainHead,
  ErrorNote,
  FromWorker,
  OpenedChains,
  OpenOrder,
  OperationResult,
  Reply,
  SqlValue,
  StatementResult,
  WorkerOperation,
  WorkerOptions,
  WorkerRequest,
} from "./sqlite-protocol.ts";
import { workerUrl } from "./worker-url.ts";

interface Pending {
  request: WorkerRequest;
  resolve(answer: OperationResult): void;
  reject(error: Error): void;
}

/** The worker's other end. Requests of one turn of the event loop travel in one message. */
export class SqliteClient {
  readonly #worker: Worker;
  /** Of this turn, and what the worker has. */
  #outbox: Pending[] = [];
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #ended: AppError | undefined;
  #postedMs = Number.NEGATIVE_INFINITY;
  /** Receives the newest row of a chain when there is one more. */
  onHead: (head: ChainHead) => void = () => {};

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  /** `onError` gets errors that belong to no request: the write-ahead log cannot be truncated. */
  static async open(options: WorkerOptions, onError: (error: unknown) => void = () => {}): Promise<SqliteClient> {
    const worker = new Worker(workerUrl, { workerData: options });
    const client = new SqliteClient(worker);
    const opened = Promise.withResolvers<void>();
    const fail = (error: AppError) => {
      opened.reject(error);
      client.#end(error);
    };
    worker.on("message", (message: FromWorker) => {
      if ("replies" in message) client.#hear(message.replies);
      else if ("trouble" in message) onError(toAppError(message.trouble));
      else if ("ready" in message) opened.resolve();
      else fail(toAppError(message.failed));
    });
    worker.on("error", (error) => fail(new AppError("internal", "the store's thread failed", { cause: error })));
    worker.on("exit", () => fail(new AppError("unavailable", "the store is closed")));
    try {
      await opened.promise;
    } catch (error) {
      await worker.terminate();
      throw error;
    }
    return client;
  }

  query(op: "read" | "write", sql: string, parameters: readonly SqlValue[], transaction?: number) {
    return this.#ask<StatementResult>({ op, sql, parameters, ...(transaction === undefined ? {} : { transaction }) });
  }

  /** Commits all of it or nothing. Resolves with the places of the entries. */
  async batch(steps: readonly BatchStep[], atMs: number): Promise<AuditPosition[]> {
    // Several steps, or an entry after the row that it is about, are whole: nothing that belongs to them is still to come.
    const isWhole = (steps.length > 1 || this.#outbox.at(-1)?.request.op === "write") && !this.#isBusy;
    const answer = this.#ask<Appended>({ op: "batch", steps, atMs });
    if (isWhole) this.#post();
    return (await answer).appended.map(({ position, sequence }) => ({ position, sequence, atMs: Math.trunc(atMs) }));
  }

  openAudit(order: OpenOrder): Promise<OpenedChains> {
    return this.#ask<OpenedChains>({ op: "open-audit", ...order });
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
    try {
      if (this.#ended === undefined) {
        const exited = new Promise((resolve) => this.#worker.once("exit", resolve));
        await this.#ask<null>({ op: "close" });
        await exited;
      }
    } finally {
      await this.#worker.terminate();
    }
  }

  #ask<A extends OperationResult>(ask: WorkerOperation): Promise<A> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    if (this.#pending.size + this.#outbox.length >= storeLimits.pending) return Promise.reject(tooBusy());
    if (this.#outbox.length === 0) this.#postSoon();
    const request = { ...ask, id: ++this.#lastId };
    return new Promise<OperationResult>((resolve, reject) => {
      this.#outbox.push({ request, resolve, reject });
    }) as Promise<A>;
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
    return performance.now() - this.#postedMs < storeLimits.busyMs;
  }

  #post(): void {
    const batch = this.#outbox;
    if (batch.length === 0 || this.#ended !== undefined) return;
    this.#postedMs = performance.now();
    this.#outbox = [];
    const requests = batch.map(({ request }) => request);
    try {
      this.#worker.postMessage(requests);
      for (const pending of batch) this.#pending.set(pending.request.id, pending);
    } catch (error) {
      // An entry that cannot be sent as it is; those beside it fail with it.
      const note: ErrorNote = { message: `cannot be stored: ${String(error)}`, refused: "invalid" };
      for (const { reject } of batch) reject(toAppError(note));
    }
  }

  #hear(replies: readonly Reply[]): void {
    for (const reply of replies) {
      const pending = this.#pending.get(reply.id);
      this.#pending.delete(reply.id);
      if ("error" in reply) pending?.reject(toAppError(reply.error));
      else {
        if (reply.answer !== null && "appended" in reply.answer) {
          for (const head of reply.answer.appended) this.onHead(head);
        }
        pending?.resolve(reply.answer);
      }
    }
  }

  #end(error: AppError): void {
    this.#ended ??= error;
    for (const { reject } of [...this.#pending.values(), ...this.#outbox]) reject(error);
    this.#pending.clear();
    this.#outbox = [];
  }
}

function tooBusy(): AppError {
  return new AppError("unavailable", `${storeLimits.pending} requests wait for the store`, { retryAfterMs: 1_000 });
}
