import type { Audit } from "../core/audit.ts";
import type { Clock } from "../lib/clock.ts";
import { auditLimits } from "../store/limits.ts";

const dayMs = 86_400_000;

export interface RetentionParts {
  audit: Audit;
  days: number;
  contentDays: number;
  clock: Clock;
  onError: (error: unknown) => void;
}

/** Prunes the audit log of what is older than it is kept, now and every so often. */
export class AuditRetention implements AsyncDisposable {
  readonly #parts: RetentionParts;
  readonly #timer: NodeJS.Timeout;
  #work: Promise<void> = Promise.resolve();

  constructor(parts: RetentionParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.#start(), auditLimits.pruneIntervalMs);
    this.#start();
  }

  #start(): void {
    this.#work = this.#work.then(() => this.#prune()).catch(this.#parts.onError);
  }

  async #prune(): Promise<void> {
    const { audit, days, contentDays, clock } = this.#parts;
    await audit.eraseContent(clock.wallMs() - contentDays * dayMs);
    const beforeMs = clock.wallMs() - days * dayMs;
    await audit.prune(() => beforeMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#work;
  }
}
