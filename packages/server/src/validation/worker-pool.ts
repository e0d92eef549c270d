import { Worker } from "node:worker_threads";
import { AppError } from "../core/errors.ts";
import { FairQueue } from "../lib/fair-queue.ts";
import { validationLimits } from "./limits.ts";
import type { FromWorker, Task, TaskResults } from "./task.ts";
import { workerUrl } from "./worker-url.ts";

interface Job {
  owner: string;
  task: Task;
  resolve(answer: never): void;
  reject(error: unknown): void;
}

interface Thread {
  worker: Worker;
  job?: Job | undefined;
  timer?: NodeJS.Timeout | undefined;
  tasks: number;
  isReady: boolean;
}

export interface PoolTimes {
  taskMs: number;
  idleMs: number;
}

/**
 * Threads for what may not be trusted to end: each task has a deadline and a heap of its own, and whatever runs over is ended
 * with its thread (S62). No thread is there before the first task, nor long after the last.
 */
export class WorkerPool implements AsyncDisposable {
  readonly #threads = new Set<Thread>();
  readonly #queue = new FairQueue<Job>({ all: validationLimits.queued, each: validationLimits.queuedEach });
  readonly #times: PoolTimes;
  #isClosed = false;

  constructor(times: PoolTimes = validationLimits) {
    this.#times = times;
  }

  get threads(): number {
    return this.#threads.size;
  }

  async run<T extends Task>(task: T, signal?: AbortSignal, owner = ""): Promise<TaskResults[T["kind"]]> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw new AppError("unavailable", "validation has ended");
    if (!this.#queue.hasRoom(owner)) throw tooBusy();
    const { promise, resolve, reject } = Promise.withResolvers<TaskResults[T["kind"]]>();
    const job: Job = { owner, task, resolve: resolve as Job["resolve"], reject };
    const abort = () => this.#abandon(job, signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    this.#queue.push(job);
    this.#dispatch();
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const closed = new AppError("unavailable", "validation has ended");
    for (const job of this.#queue.clear()) job.reject(closed);
    await Promise.all([...this.#threads].map((thread) => this.#end(thread, closed)));
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      const free = [...this.#threads].find((thread) => thread.job === undefined);
      const thread = free ?? (this.#threads.size < validationLimits.workers ? this.#start() : undefined);
      if (thread === undefined) return;
      thread.job = this.#queue.take();
      if (thread.isReady) this.#give(thread);
    }
  }

  #start(): Thread {
    const { heapMiB, youngHeapMiB, stackMiB, startMs } = validationLimits;
    const worker = new Worker(workerUrl, {
      // It needs nothing of this process, and what it reads is hostile.
      env: {},
      argv: [],
      stdin: false,
      resourceLimits: {
        maxOldGenerationSizeMb: heapMiB,
        maxYoungGenerationSizeMb: youngHeapMiB,
        stackSizeMb: stackMiB,
      },
    });
    const thread: Thread = { worker, tasks: 0, isReady: false };
    this.#threads.add(thread);
    this.#arm(thread, startMs, tooSlow);
    worker.on("message", (message: FromWorker) => this.#hear(thread, message));
    worker.on("error", (error) => void this.#end(thread, explainEnd(error)));
    worker.on("exit", () => void this.#end(thread, new AppError("internal", "the check ended early")));
    return thread;
  }

  #hear(thread: Thread, message: FromWorker): void {
    if ("ready" in message) {
      thread.isReady = true;
      if (thread.job === undefined) this.#rest(thread);
      else this.#give(thread);
      return;
    }
    if ("loaded" in message) {
      const { taskMs } = this.#times;
      const why = `the check took longer than ${taskMs / 1000} s and was ended`;
      this.#arm(thread, taskMs, () => new AppError("timeout", why));
      return;
    }
    const job = this.#release(thread);
    if ("answer" in message) job?.resolve(message.answer as never);
    else job?.reject(new AppError(message.error.code, message.error.message, message.error));
    if (("last" in message && message.last) || thread.tasks >= validationLimits.tasksPerWorker) void this.#end(thread);
    else this.#rest(thread);
    this.#dispatch();
  }

  #give(thread: Thread): void {
    thread.tasks += 1;
    this.#arm(thread, validationLimits.startMs, tooSlow);
    thread.worker.ref();
    thread.worker.postMessage(thread.job?.task);
  }

  /** Nothing waits for it now, not even the end of this process. */
  #rest(thread: Thread): void {
    this.#arm(thread, this.#times.idleMs);
    thread.timer?.unref();
    thread.worker.unref();
  }

  #arm(thread: Thread, ms: number, why?: () => AppError): void {
    clearTimeout(thread.timer);
    thread.timer = setTimeout(() => void this.#end(thread, why?.()), ms);
  }

  async #end(thread: Thread, why?: AppError): Promise<void> {
    clearTimeout(thread.timer);
    const wasThere = this.#threads.delete(thread);
    const job = this.#release(thread);
    job?.reject(why ?? new AppError("internal", "the check ended early"));
    if (wasThere) this.#dispatch();
    await thread.worker.terminate();
  }

  #release(thread: Thread): Job | undefined {
    const { job } = thread;
    thread.job = undefined;
    if (job !== undefined) this.#queue.end(job.owner);
    return job;
  }

  #abandon(job: Job, reason: unknown): void {
    this.#queue.remove(job);
    job.reject(reason);
    for (const thread of this.#threads) if (thread.job === job) void this.#end(thread);
  }
}

function explainEnd(error: unknown): AppError {
  if (error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY")
    return new AppError("too_large", `the check needs more than ${validationLimits.heapMiB} MiB of memory`);
  return new AppError("internal", "the check failed", { cause: error });
}

const tooSlow = () => new AppError("unavailable", "validation could not start in time: the machine is too busy");

function tooBusy(): AppError {
  return new AppError("unavailable", "too many checks wait", { retryAfterMs: 1_000 });
}
