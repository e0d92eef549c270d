import { AppError } from "../../core/errors.ts";
import type { QueuedJob, QueuedKind, QueueStatus } from "../../core/fleet.ts";
import type { Caller } from "../../core/principal.ts";
import { checkRange } from "../../core/size.ts";
import { buildLimits } from "../../images/limits.ts";
import { randomId } from "../../lib/random-id.ts";
import { queueLimits } from "./limits.ts";

interface WaitingJob extends Omit<QueuedJob, "position" | "waitingMs"> {
  sinceMs: number;
  begin(): void;
  giveUp(reason: unknown): void;
}

interface Line {
  running: number;
  /** When it was last given a place. */
  served: number;
  waiting: WaitingJob[];
}

export interface QueueOptions {
  maxConcurrent: number;
  /** Of those, makings of images: they are long and large. */
  maxBuilds?: number;
  /** Of all namespaces, and of one. */
  maxWaiting?: number;
  maxWaitingEach?: number;
  monotonicMs: () => number;
  /** Whether there are several namespaces, so that none may have all places. */
  isShared?: () => boolean;
  /** A job was refused for want of room. */
  onFull?: (namespace: string, waiting: number) => void;
}

export interface JobRequest {
  /** Of a run: the run's. Drawn unless given. */
  id?: string;
  caller: Pick<Caller, "requestId" | "priority" | "gone"> & { principal: Pick<Caller["principal"], "namespace"> };
  kind: QueuedKind;
  sandboxId?: string;
  /** The caller's unless given, and so is the signal. */
  priority?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * So many jobs at once, the others wait. A free place goes to the namespace with the fewest running, among equals to the
 * one that was served longest ago; within it to the highest priority, then to whoever came first. Builds that wait for
 * others of their kind let all else go before them.
 */
export class JobQueue {
  readonly #options: Required<Omit<QueueOptions, "onFull">> & Pick<QueueOptions, "onFull">;
  readonly #lines = new Map<string, Line>();
  #running = 0;
  #builds = 0;
  #waiting = 0;
  #count = 0;
  /** A moving mean, for what a refused caller is told. */
  #jobMs: number = queueLimits.retryMinMs;

  constructor(options: QueueOptions) {
    this.#options = {
      maxBuilds: buildLimits.atOnce,
      maxWaiting: queueLimits.waiting,
      maxWaitingEach: queueLimits.waitingPerNamespace,
      isShared: () => false,
      ...options,
    };
  }

  async with<T>(request: JobRequest, act: () => Promise<T>): Promise<T> {
    const { caller, signal = caller.gone, priority = caller.priority ?? queueLimits.priority.default } = request;
    signal?.throwIfAborted();
    checkRange(priority, queueLimits.priority, "priority", String);
    const { namespace } = caller.principal;
    const line = this.#lineOf(namespace);
    if (this.#first(line) === undefined && this.#mayEnter(line) && this.#hasRoom(request)) this.#enter(line, request);
    else await this.#wait(line, { ...request, priority }, signal);
    const startedMs = this.#options.monotonicMs();
    try {
      return await act();
    } finally {
      this.#jobMs += (this.#options.monotonicMs() - startedMs - this.#jobMs) / 8;
      line.running--;
      this.#running--;
      if (request.kind === "build") this.#builds--;
      this.#forget(namespace, line);
      this.#serve();
    }
  }

  status(): QueueStatus {
    const { maxConcurrent, maxWaiting } = this.#options;
    const lines = [...this.#lines].filter(([, { waiting }]) => waiting.length > 0);
    return {
      running: this.#running,
      waiting: this.#waiting,
      maxConcurrent,
      maxWaiting,
      waitingByNamespace: Object.fromEntries(lines.map(([name, { waiting }]) => [name, waiting.length])),
    };
  }

  /** Those of a namespace, in the order of their turns. */
  waiting(namespace: string): QueuedJob[] {
    const nowMs = this.#options.monotonicMs();
    const jobs = this.#lines.get(namespace)?.waiting ?? [];
    return jobs.map(({ id, kind, sandboxId, requestId, priority, sinceMs }, at) => ({
      ...{ id, kind, sandboxId, requestId, priority },
      position: at + 1,
      waitingMs: nowMs - sinceMs,
    }));
  }

  /** Of those that wait: one that has begun is ended by whoever started it. */
  cancel(namespace: string, id: string): QueuedJob {
    const job = this.waiting(namespace).find((one) => one.id === id);
    if (job === undefined)
      throw new AppError("not_found", `unknown waiting job ${JSON.stringify(id).slice(0, 80)}`, {
        hint: "only waiting jobs can be cancelled; the client that started a running job can end it",
      });
    const waiting = this.#lines.get(namespace)?.waiting.find((one) => one.id === id);
    waiting?.giveUp(new AppError("conflict", "the job was cancelled before it started", { details: { job_id: id } }));
    return job;
  }

  #lineOf(namespace: string): Line {
    const known = this.#lines.get(namespace);
    if (known !== undefined) return known;
    // Whoever comes anew stands behind those that waited before.
    const line = { running: 0, served: ++this.#count, waiting: [] };
    this.#lines.set(namespace, line);
    return line;
  }

  #forget(namespace: string, line: Line): void {
    if (line.running === 0 && line.waiting.length === 0) this.#lines.delete(namespace);
  }

  /**
   * Jobs may be long, and none is taken its place: so whoever has more than a few times what is free waits, and something
   * is left for the next one who comes.
   */
  #mayEnter({ running }: Line): boolean {
    const free = this.#options.maxConcurrent - this.#running;
    return free > 0 && (running < queueLimits.shareOfFree * free || !this.#options.isShared());
  }

  #hasRoom({ kind }: Pick<JobRequest, "kind">): boolean {
    return kind !== "build" || this.#builds < this.#options.maxBuilds;
  }

  /** Of those that wait, the first that may begin. */
  #first({ waiting }: Line): WaitingJob | undefined {
    return waiting.find((one) => this.#hasRoom(one));
  }

  #enter(line: Line, { kind }: Pick<JobRequest, "kind">): void {
    line.running++;
    this.#running++;
    if (kind === "build") this.#builds++;
    line.served = ++this.#count;
  }

  async #wait(
    line: Line,
    { id = randomId(8, "hex"), caller, kind, sandboxId, priority }: JobRequest & { priority: number },
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { maxWaiting, maxWaitingEach, monotonicMs } = this.#options;
    const { namespace } = caller.principal;
    if (this.#waiting >= maxWaiting || line.waiting.length >= maxWaitingEach) {
      this.#forget(namespace, line);
      this.#options.onFull?.(namespace, this.#waiting);
      throw this.#full();
    }
    const gate = Promise.withResolvers<void>();
    const giveUp = (reason: unknown) => {
      const at = line.waiting.indexOf(waiting);
      if (at < 0) return;
      line.waiting.splice(at, 1);
      this.#waiting--;
      this.#forget(namespace, line);
      gate.reject(reason);
    };
    const waiting: WaitingJob = {
      ...{ id, kind, sandboxId: sandboxId ?? null, requestId: caller.requestId, priority },
      sinceMs: monotonicMs(),
      begin: gate.resolve,
      giveUp,
    };
    place(line.waiting, waiting);
    this.#waiting++;
    const cancel = () => giveUp(signal?.reason);
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      await gate.promise;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  #serve(): void {
    while (this.#running < this.#options.maxConcurrent && this.#waiting > 0) {
      const line = nextLine([...this.#lines.values()].filter((line) => this.#mayEnter(line) && this.#first(line)));
      const next = line && this.#first(line);
      if (line === undefined || next === undefined) return;
      line.waiting.splice(line.waiting.indexOf(next), 1);
      this.#waiting--;
      this.#enter(line, next);
      next.begin();
    }
  }

  #full(): AppError {
    const { maxConcurrent } = this.#options;
    const estimateMs = (this.#jobMs * (this.#waiting + 1)) / maxConcurrent;
    return new AppError("limit_exceeded", "too many waiting jobs", {
      retryAfterMs: Math.round(Math.min(queueLimits.retryMaxMs, Math.max(queueLimits.retryMinMs, estimateMs))),
      details: { waiting: this.#waiting, max_concurrent: maxConcurrent },
    });
  }
}

/** Highest first, then oldest first. */
function place(waiting: WaitingJob[], one: WaitingJob): void {
  const at = waiting.findLastIndex(({ priority }) => priority >= one.priority);
  waiting.splice(at + 1, 0, one);
}

function nextLine(lines: Iterable<Line>): Line | undefined {
  let best: Line | undefined;
  for (const line of lines) {
    if (
      best === undefined ||
      line.running < best.running ||
      (line.running === best.running && line.served < best.served)
    )
      best = line;
  }
  return best;
}
