import { nextTick } from "node:process";
import { Worker } from "node:worker_threads";
import type { AuditEntry } from "../core/audit.ts";
import { AppError } from "../core/errors.ts";
import { storeLimits } from "../core/store-limits.ts";
import { IntakeWriter } from "./intake/intake-writer.ts";
import { toAppError } from "./sqlite-error.ts";
import type {
  Answer,
  Ask,
  ChainHead,
  Drained,
  ErrorNote,
  FromWorker,
  IntakeStart,
  QueryAnswer,
  Reply,
  Request,
  SqlValue,
  ToWorker,
  WorkerOptions,
} from "./sqlite-protocol.ts";
import { workerUrl } from "./worker-url.ts";

interface Pending {
  request: Request;
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** The worker's other end. Requests of one turn of the event loop travel in one message, or are laid into the intake if nothing is before them. */
export class SqliteClient {
  readonly #worker: Worker;
  /** Of this turn, and what the worker has. */
  #outbox: Pending[] = [];
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #ended: AppError | undefined;
  #postedMs = Number.NEGATIVE_INFINITY;
  #intake: IntakeWriter | undefined;
  /** The worker hears of what is in the intake soon, or has, and is not through with it. */
  #isDraining = false;
  /** Told where the audit log ends when there is more of it. */
  onHead: (head: ChainHead) => void = () => {};
  /** Told of what was taken and is not brought into the database, now or for ever, and of a log that cannot turn over. */
  onError: (error: unknown) => void = () => {};
  /** What the database refused for ever of what an earlier process had taken. */
  refused: readonly AppError[] = [];
  /** Under way: what is laid down meanwhile would have to wait for their end. */
  readonly #transactions = new Set<number>();
  #isClosing = false;
  #isMakingRoom = false;

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  static async open(options: WorkerOptions): Promise<SqliteClient> {
    const worker = new Worker(workerUrl, { workerData: options });
    const client = new SqliteClient(worker);
    const opened = Promise.withResolvers<{ intake: IntakeStart | undefined; refused: ErrorNote[] }>();
    const fail = (error: AppError) => {
      opened.reject(error);
      client.#end(error);
    };
    worker.on("message", (message: FromWorker) => {
      if ("replies" in message) client.#hear(message.replies);
      else if ("drained" in message) client.#drained(message.drained);
      else if ("kept" in message) client.#intake?.kept(message.kept);
      else if ("held" in message) client.#held(message.held);
      else if ("trouble" in message) client.onError(toAppError(message.trouble));
      else if ("ready" in message) opened.resolve(message);
      else fail(toAppError(message.failed));
    });
    worker.on("error", (error) => fail(new AppError("internal", "the store's thread failed", { cause: error })));
    worker.on("exit", () => fail(new AppError("unavailable", "the store is closed")));
    try {
      const { intake, refused } = await opened.promise;
      if (intake !== undefined) client.#intake = new IntakeWriter(options.path, intake);
      client.refused = refused.map(toAppError);
    } catch (error) {
      await worker.terminate();
      throw error;
    }
    return client;
  }

  query(op: "read" | "write", sql: string, parameters: readonly SqlValue[], transaction?: number) {
    return this.#ask<QueryAnswer>({ op, sql, parameters, ...(transaction === undefined ? {} : { transaction }) });
  }

  /** A row under an id that nobody else was given. */
  insert(sql: string, parameters: readonly SqlValue[]): Promise<QueryAnswer> {
    return this.#ask<QueryAnswer>({ op: "write", sql, parameters, isNew: true });
  }

  /** One that comes after the row that it is about is what that row has waited for. */
  async append(entry: AuditEntry, atMs: number): Promise<void> {
    const isAwaited = this.#outbox.at(-1)?.request.op === "write" && !this.#isBusy;
    const appended = this.#ask<ChainHead | null>({ op: "append", entry, atMs });
    if (isAwaited) this.#post();
    await appended;
  }

  async begin(): Promise<number> {
    const { transaction } = await this.#ask<{ transaction: number }>({ op: "begin" });
    this.#transactions.add(transaction);
    return transaction;
  }

  async end(op: "commit" | "rollback", transaction: number): Promise<void> {
    try {
      await this.#ask<null>({ op, transaction });
    } finally {
      this.#transactions.delete(transaction);
    }
  }

  /** Resolves when all that is committed is on the disk. */
  async sync(): Promise<void> {
    await this.#ask<null>({ op: "sync" });
  }

  async close(): Promise<void> {
    this.#isClosing = true; // what comes now is too late for the intake, which goes
    try {
      if (this.#ended === undefined) {
        const exited = new Promise((resolve) => this.#worker.once("exit", resolve));
        await this.#ask<null>({ op: "close" });
        await exited;
      }
    } finally {
      await this.#worker.terminate();
      if (this.#intake?.isBehind)
        this.onError(
          new AppError("unavailable", "the store's last entries come into the database when it is opened next"),
        );
      this.#intake?.close();
      this.#intake = undefined;
    }
  }

  #ask<A extends Answer>(ask: Ask): Promise<A> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    if (this.#pending.size + this.#outbox.length >= storeLimits.pending) return Promise.reject(tooBusy());
    if (this.#outbox.length === 0) this.#postSoon();
    const request = { ...ask, id: ++this.#lastId };
    return new Promise<Answer>((resolve, reject) => {
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
    const mayTake = this.#pending.size === 0 && this.#transactions.size === 0 && !this.#isClosing;
    try {
      if (mayTake && this.#intake?.take(requests)) {
        this.#drainSoon();
        for (const { request, resolve } of batch) resolve(request.op === "append" ? null : addedRow);
        return;
      }
      this.#tell(requests);
      for (const pending of batch) this.#pending.set(pending.request.id, pending);
      this.#makeRoom();
    } catch (error) {
      // An entry that cannot be sent as it is; those beside it fail with it.
      const note: ErrorNote = { message: `cannot be stored: ${String(error)}`, refused: "invalid" };
      for (const { reject } of batch) reject(toAppError(note));
    }
  }

  #tell(requests: Request[]): void {
    this.#worker.postMessage({ requests, taken: this.#intake?.number ?? 0 } satisfies ToWorker);
  }

  /** What is on the disk sooner is out of the intake's way sooner. */
  #makeRoom(): void {
    if (!this.#intake?.needsRoom || this.#isMakingRoom || this.#isClosing) return;
    this.#isMakingRoom = true;
    this.sync()
      .catch(() => undefined) // whoever asks for something hears of it
      .finally(() => {
        this.#isMakingRoom = false;
      });
  }

  /** The worker hears of it when whoever waited is done: to wake a thread takes longer than to lay it down. */
  #drainSoon(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    setImmediate(() =>
      setTimeout(() => {
        if (this.#intake?.isBehind && this.#ended === undefined) this.#tell([]);
        else this.#isDraining = false;
      }, storeLimits.intake.tellMs),
    );
  }

  #held(note: ErrorNote): void {
    if (this.#intake === undefined || this.#intake.isHeld) return;
    this.#intake.hold();
    this.onError(toAppError(note));
  }

  #drained({ number, head, refused }: Drained): void {
    this.#isDraining = false;
    this.#intake?.applied(number);
    if (this.#intake?.isBehind) this.#drainSoon();
    if (head !== undefined) this.onHead(head);
    for (const note of refused) this.onError(toAppError(note));
  }

  #hear(replies: readonly Reply[]): void {
    for (const reply of replies) {
      const pending = this.#pending.get(reply.id);
      this.#pending.delete(reply.id);
      if ("error" in reply) pending?.reject(toAppError(reply.error));
      else {
        if (reply.answer !== null && "hash" in reply.answer) this.onHead(reply.answer);
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

const addedRow: QueryAnswer = { rows: [], changes: 1 };

function tooBusy(): AppError {
  return new AppError("unavailable", `${storeLimits.pending} requests wait for the store`, { retryAfterMs: 1_000 });
}
