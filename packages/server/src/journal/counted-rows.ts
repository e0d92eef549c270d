import type { AuditEntry } from "../core/audit.ts";
import type { Clock } from "../lib/clock.ts";
import { auditLimits } from "../store/limits.ts";
import { isCountable } from "./event-row.ts";
import { type Judgement, RowBudget } from "./row-budget.ts";

export interface CountedParts {
  /** Stores entries in one transaction, and tells of them. */
  write: (entries: readonly AuditEntry[]) => Promise<void>;
  clock: Pick<Clock, "wallMs">;
  onError: (error: unknown) => void;
}

/** Writes the counts of each minute. Where they cannot be written, nothing further is counted until they are. */
export class CountedRows implements AsyncDisposable {
  readonly #parts: CountedParts;
  readonly #budget = new RowBudget();
  /** Counts of past minutes that are not written yet. */
  #owed: AuditEntry[] = [];
  #work: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isFailing = false;
  #isClosed = false;

  constructor(parts: CountedParts) {
    this.#parts = parts;
  }

  judge(entry: AuditEntry): Judgement {
    if (this.#isClosed || this.#isFailing || !isCountable(entry)) return "row";
    if (this.#budget.isExhausted) this.#endMinute();
    this.#begin();
    return this.#budget.judge(entry);
  }

  /** The entry that a `first` comes with: from it on the log is not whole before a count stands behind it. */
  announce({ namespace, actor, sandboxId }: AuditEntry): AuditEntry {
    const about = { namespace, actor, sandboxId: actor === "system" ? sandboxId : null };
    return { ...about, type: "audit.counting", requestId: null, detail: { rows: auditLimits.budgetRows } };
  }

  unannounce(entry: AuditEntry): void {
    this.#budget.unannounce(entry);
  }

  count(entry: AuditEntry): void {
    this.#budget.count(entry, this.#parts.clock.wallMs());
    this.#begin();
  }

  #begin(afterMs: number = auditLimits.budgetMs): void {
    this.#timer ??= setTimeout(() => this.#endMinute(), afterMs).unref();
  }

  #endMinute(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#owed.push(...this.#budget.end());
    this.#work = this.#work.then(() => this.#pay()).catch((error) => this.#retry(error));
  }

  async #pay(): Promise<void> {
    while (this.#owed.length > 0) {
      const paid = this.#owed.slice(0, auditLimits.budgetBatch);
      await this.#parts.write(paid);
      this.#owed.splice(0, paid.length);
    }
    this.#isFailing = false;
  }

  #retry(error: unknown): void {
    this.#isFailing = true;
    this.#parts.onError(error);
    if (!this.#isClosed) this.#begin(auditLimits.headRetryMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#endMinute();
    await this.#work;
  }
}
