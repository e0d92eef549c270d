import { recordLimits } from "../../core/limits.ts";
import type { RunBounds, RunRecords } from "../../core/run-record.ts";
import type { Clock } from "../../lib/clock.ts";

const dayMs = 86_400_000;

export interface RunPruningParts {
  records: RunRecords;
  bounds: RunBounds;
  days: number;
  clock: Clock;
  onError: (error: unknown) => void;
}

interface Added {
  records: number;
  bytes: number;
}

/** Keeps the records of runs within their bounds: of a namespace each time it has added some, and of age now and then. */
export class RunPruning implements AsyncDisposable {
  readonly #parts: RunPruningParts;
  readonly #added = new Map<string, Map<string, Added>>();
  readonly #timer: NodeJS.Timeout;
  #work: Promise<void> = Promise.resolve();

  constructor(parts: RunPruningParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.#expire(), recordLimits.pruneIntervalMs).unref();
    this.#expire();
  }

  added(namespace: string, sandboxId: string, bytes: number): void {
    const sandboxes = this.#added.get(namespace) ?? new Map<string, Added>();
    this.#added.set(namespace, sandboxes);
    const own = sandboxes.get(sandboxId) ?? { records: 0, bytes: 0 };
    sandboxes.set(sandboxId, { records: own.records + 1, bytes: own.bytes + bytes });
    const all = [...sandboxes.values()];
    const isDue = sumOf(all, "records") >= recordLimits.addedRecords || sumOf(all, "bytes") >= recordLimits.addedBytes;
    if (!isDue) return;
    this.#added.delete(namespace);
    const { records, bounds } = this.#parts;
    this.#then(() => records.prune({ namespace, sandboxes }, bounds));
  }

  #expire(): void {
    const { records, days, clock } = this.#parts;
    this.#then(() => records.expire(clock.wallMs() - days * dayMs));
  }

  #then(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch(this.#parts.onError);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#work;
  }
}

function sumOf(all: readonly Added[], name: keyof Added): number {
  return all.reduce((sum, one) => sum + one[name], 0);
}
