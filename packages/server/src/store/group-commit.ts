import { storeLimits } from "./limits.ts";
import { isBusy, noteOf } from "./sqlite-error.ts";
import type { ErrorNote, Reply, WorkerRequest } from "./sqlite-protocol.ts";
import { isStep, type Step, type Writer } from "./writer.ts";

interface Waiting {
  request: WorkerRequest;
  sinceMs: number;
}

export interface GroupCommitParts {
  writer: Writer;
  transactionMs: number;
  reply(replies: Reply[]): void;
  committed(): void;
  /** Steps that are no SQL: sync and close. */
  other(request: WorkerRequest): void;
}

/**
 * Runs requests in their order. What waits when a commit ends goes into the next one together; a step that fails takes
 * nothing else with it, a commit that fails takes all of its steps. Answers go out after the commit.
 * A transaction of several steps has the database for itself, for a limited time.
 */
export class GroupCommit {
  readonly #parts: GroupCommitParts;
  readonly #writer: Writer;
  #queue: Waiting[] = [];
  #transaction: number | undefined;
  #lastTransaction = 0;
  #deadline: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(parts: GroupCommitParts) {
    this.#parts = parts;
    this.#writer = parts.writer;
  }

  push(requests: readonly WorkerRequest[]): void {
    const sinceMs = performance.now();
    for (const request of requests) this.#queue.push({ request, sinceMs });
  }

  /** Works off what waits; what another program's lock holds up is tried again later. */
  run(): void {
    for (;;) {
      const next = this.#transaction === undefined ? this.#takeGroup() : this.#takeOfTransaction(this.#transaction);
      const [first] = next;
      if (first === undefined) return;
      if (isStep(first.request) && first.request.transaction === undefined) this.#runGroup(next);
      else this.#runAlone(first);
    }
  }

  /** The timers of what could not be done. */
  close(): void {
    clearTimeout(this.#retry);
  }

  /** The first one, and all that may share its commit. */
  #takeGroup(): Waiting[] {
    if (this.#retry !== undefined) return this.#takeReads();
    let count = 0;
    while (count < Math.min(this.#queue.length, storeLimits.group)) {
      const request = this.#queue[count]?.request;
      if (request === undefined || !isStep(request) || request.transaction !== undefined) break;
      count++;
    }
    return this.#queue.splice(0, Math.max(1, count));
  }

  /** While another program's lock holds up writes. */
  #takeReads(): Waiting[] {
    const isRead = ({ request }: Waiting) => request.op === "read" && request.transaction === undefined;
    const reads = this.#queue.filter(isRead);
    this.#queue = this.#queue.filter((waiting) => !isRead(waiting));
    return reads;
  }

  #takeOfTransaction(transaction: number): Waiting[] {
    const at = this.#queue.findIndex(({ request }) => request.transaction === transaction);
    return at === -1 ? [] : this.#queue.splice(at, 1);
  }

  #runGroup(group: Waiting[]): void {
    const steps = group.map(({ request }) => request as Step);
    if (steps.every(({ op }) => op === "read")) {
      return this.#parts.reply(steps.map((step) => this.#try(step)));
    }
    const trouble = this.#begin();
    if (trouble !== undefined) return this.#postpone(group, trouble);
    const replies: Reply[] = [];
    try {
      for (const step of steps) replies.push(this.#try(step));
      this.#writer.commit();
    } catch (error) {
      this.#writer.rollback();
      return this.#fail(group, noteOf(error));
    }
    this.#parts.committed();
    this.#parts.reply(replies);
  }

  /** Tells why none could be begun. */
  #begin(): ErrorNote | undefined {
    try {
      this.#writer.begin();
      return undefined;
    } catch (error) {
      return noteOf(error);
    }
  }

  #runAlone(waiting: Waiting): void {
    const { request } = waiting;
    const { id } = request;
    if (request.transaction !== this.#transaction) {
      if (request.op === "rollback") return this.#parts.reply([{ id, answer: null }]);
      const message = `a transaction was ended after ${this.#parts.transactionMs} ms`;
      return this.#fail([waiting], { message, refused: "timeout" });
    }
    const trouble = request.op === "begin" ? this.#begin() : undefined;
    if (trouble !== undefined) return this.#postpone([waiting], trouble);
    try {
      switch (request.op) {
        case "begin":
          this.#transaction = ++this.#lastTransaction;
          this.#deadline = setTimeout(() => this.#abandon(), this.#parts.transactionMs);
          this.#parts.reply([{ id, answer: { transaction: this.#transaction } }]);
          break;
        case "commit":
          this.#writer.commit();
          this.#endTransaction();
          this.#parts.committed();
          this.#parts.reply([{ id, answer: null }]);
          break;
        case "rollback":
          this.#writer.rollback();
          this.#endTransaction();
          this.#parts.reply([{ id, answer: null }]);
          break;
        case "sync":
        case "close":
          this.#parts.other(request);
          break;
        default:
          this.#parts.reply([this.#try(request)]);
      }
    } catch (error) {
      this.#writer.rollback();
      this.#endTransaction();
      this.#fail([waiting], noteOf(error));
    }
  }

  /** Throws when the error ended the whole transaction. */
  #try(step: Step): Reply {
    const inTransaction = this.#writer.isOpen;
    try {
      return { id: step.id, answer: this.#writer.step(step) };
    } catch (error) {
      if (inTransaction && !this.#writer.isOpen) throw error;
      return { id: step.id, error: noteOf(error) };
    }
  }

  /** Another program's lock holds it up: again later, while reads go ahead. */
  #postpone(group: Waiting[], note: ErrorNote): void {
    const [first] = group;
    const waitedMs = performance.now() - (first?.sinceMs ?? 0);
    if (!isBusy(note) || waitedMs > storeLimits.lockWaitMs) {
      return this.#fail(group, note);
    }
    this.#queue.unshift(...group);
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.run();
    }, storeLimits.lockPauseMs);
  }

  #abandon(): void {
    this.#writer.rollback();
    this.#endTransaction();
    this.run();
  }

  #endTransaction(): void {
    clearTimeout(this.#deadline);
    this.#transaction = undefined;
  }

  #fail(group: Waiting[], error: ErrorNote): void {
    this.#parts.reply(group.map(({ request: { id } }) => ({ id, error })));
  }
}
