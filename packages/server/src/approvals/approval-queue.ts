/** Asks humans, waits for their answers and settles them (NET-09, S51). */
import type {
  Approval,
  ApprovalEffects,
  ApprovalQuery,
  ApprovalSettings,
  Approvals,
  Decision,
  Question,
} from "../core/approval.ts";
import { AppError } from "../core/errors.ts";
import { refused } from "../core/policy-refusal.ts";
import type { Caller } from "../core/principal.ts";
import { requireScope } from "../core/scope.ts";
import { ApprovalBook, type BookParts } from "./approval-book.ts";
import { holds, scopeOf, settledAlready } from "./decision.ts";
import { ended } from "./ended.ts";
import { approvalLimits } from "./limits.ts";
import { PendingQuestions } from "./pending.ts";
import { QuestionAsker } from "./question-asker.ts";
import { QuestionSettler } from "./question-settler.ts";
import { raced } from "./raced.ts";
import { Waiters } from "./waiters.ts";

export interface ApprovalQueueParts extends BookParts {
  settings: ApprovalSettings;
  effects?: ApprovalEffects;
  /** Told of what went wrong beside a call's own result. */
  onError: (error: unknown) => void;
}

export class ApprovalQueue implements Approvals, AsyncDisposable {
  readonly #parts: ApprovalQueueParts;
  readonly #effects: ApprovalEffects;
  readonly #pending = new PendingQuestions();
  readonly #book: ApprovalBook;
  readonly #settler: QuestionSettler;
  readonly #asker: QuestionAsker;
  readonly #waiters = new Waiters();
  readonly #pruning: NodeJS.Timeout;
  #closed = false;

  private constructor(parts: ApprovalQueueParts) {
    const { settings, clock, effects = {}, onError } = parts;
    const pending = this.#pending;
    const book = new ApprovalBook(parts);
    const settler = new QuestionSettler({ pending, book, clock, effects, onError });
    this.#parts = parts;
    this.#effects = effects;
    this.#book = book;
    this.#settler = settler;
    this.#asker = new QuestionAsker({
      pending,
      book,
      clock,
      settings,
      effects,
      checkOpen: (question) => this.#checkOpen(question),
      late: (entry) => settler.late(entry),
    });
    this.#pruning = setInterval(() => void this.#prune().catch(onError), approvalLimits.pruneIntervalMs).unref();
  }

  /** Ends questions of an earlier daemon: nobody waits for them. */
  static async open(parts: ApprovalQueueParts): Promise<ApprovalQueue> {
    const queue = new ApprovalQueue(parts);
    const changes = { state: "expired", reason: ended.restarted } as const;
    for (const left of await parts.records.pending()) await queue.#book.changed(left, changes, "expired", undefined);
    await queue.#prune();
    return queue;
  }

  get attended(): boolean {
    return this.#parts.settings.attended;
  }

  get holdMs(): number {
    return this.#parts.settings.holdMs;
  }

  ask(question: Question): Promise<Approval> {
    return this.#asker.ask(question, undefined);
  }

  async request(caller: Caller, question: Omit<Question, "namespace">): Promise<Approval> {
    requireScope(caller.principal, "use");
    return this.#asker.ask({ ...question, namespace: caller.principal.namespace }, caller);
  }

  async settled(id: string, signal?: AbortSignal): Promise<Approval> {
    const entry = this.#pending.withId(id);
    if (entry?.approval === undefined) return this.#find(id);
    const settled = await raced(entry.settled.promise, signal);
    if (settled !== undefined) return settled;
    // An answer that is being written may be for this very attempt.
    await entry.settling;
    if (entry.approval.state === "pending") entry.attempts--;
    return entry.approval;
  }

  async wait(caller: Caller, id: string, timeoutMs: number, signal?: AbortSignal): Promise<Approval> {
    const found = await this.get(caller, id);
    const entry = this.#pending.withId(id);
    if (entry === undefined) return found.state === "pending" ? this.get(caller, id) : found;
    return this.#waiters.with(caller.principal.namespace, async () => {
      const time = AbortSignal.timeout(Math.ceil(timeoutMs)); // it throws at a fraction
      const over = AbortSignal.any([time, ...(signal === undefined ? [] : [signal])]);
      return (await raced(entry.settled.promise, over)) ?? (await this.get(caller, id));
    });
  }

  /** Hides approvals of other namespaces: they are not found. */
  async get({ principal }: Caller, id: string): Promise<Approval> {
    return this.#find(id, principal.namespace);
  }

  async list({ principal }: Caller, query: ApprovalQuery): Promise<Approval[]> {
    const found = await this.#parts.records.list({ ...query, namespace: principal.namespace });
    return Promise.all(found.map((one) => this.#current(one)));
  }

  async decide(caller: Caller, id: string, decision: Decision): Promise<Approval> {
    requireScope(caller.principal, "operate");
    const found = await this.get(caller, id);
    const scope = scopeOf(found, decision);
    if (scope !== "once") await this.#checkStanding(found);
    const entry = this.#pending.withId(id);
    await entry?.opened;
    if (entry?.approval === undefined || entry.settling !== undefined) throw settledAlready(await this.get(caller, id));
    const { approve, reason = null } = decision;
    this.#effects[found.kind]?.check?.(found, { approve, scope });
    const answer = { state: approve ? "approved" : "denied", scope, reason } as const;
    return this.#settler.decide(entry, entry.approval, answer, caller);
  }

  async revoke(caller: Caller, id: string): Promise<Approval> {
    requireScope(caller.principal, "operate");
    const found = await this.get(caller, id);
    if (!holds(found)) throw new AppError("conflict", `approval ${id} is not in effect`);
    const { scope, state } = found;
    if (scope === "sandbox" || scope === "always")
      await this.#effects[found.kind]?.release(found, { approve: state === "approved", scope }, caller);
    return this.#book.changed(found, { revokedAtMs: this.#parts.clock.wallMs() }, "revoked", caller);
  }

  /** Sandboxes whose questions are pending. */
  askers(): string[] {
    return [...new Set(this.#pending.all.flatMap(({ sandboxId }) => sandboxId ?? []))];
  }

  /** Withdraws what a sandbox that is gone has asked, and what was answered for it. */
  async forget(sandboxId: string): Promise<void> {
    const own = this.#pending.all.filter((entry) => entry.sandboxId === sandboxId);
    await this.#settler.endAll(own, "cancelled", ended.destroyed);
    await this.#parts.records.forget(sandboxId, this.#parts.clock.wallMs()).catch(this.#parts.onError);
  }

  async #find(id: string, namespace?: string): Promise<Approval> {
    const found = await this.#parts.records.get(id);
    if (found === undefined || (namespace !== undefined && found.namespace !== namespace))
      throw new AppError("not_found", `unknown approval ${id.slice(0, 64)}`);
    return this.#current(found);
  }

  /** Pending is what this process knows to be: of the rest nobody would hear an answer. */
  async #current(stored: Approval): Promise<Approval> {
    if (stored.state !== "pending") return stored;
    const entry = this.#pending.withId(stored.id);
    if (entry !== undefined) return { ...stored, asked: entry.asked };
    // Settled since it was read, unless that could not be written.
    const now = await this.#parts.records.get(stored.id);
    return now === undefined || now.state === "pending" ? { ...stored, state: "expired", reason: ended.late } : now;
  }

  async #checkStanding({ namespace, kind }: Approval): Promise<void> {
    const most = approvalLimits.standingPerNamespace;
    if (this.#effects[kind] !== undefined) return;
    if ((await this.#parts.records.countStanding(namespace, kind)) < most) return;
    throw new AppError("limit_exceeded", `too many approvals in effect in the namespace (limit: ${most} of a kind)`, {
      hint: "revoke unused ones: caisson approvals revoke ID",
    });
  }

  #checkOpen({ kind, subject }: Question): void {
    if (this.#closed) throw new AppError("unavailable", "the daemon is shutting down", { retryAfterMs: 5_000 });
    if (this.attended) return;
    const why = "it takes a human's approval, and nobody attends this place";
    throw refused({ kind, what: subject, why, rule: null });
  }

  #prune(): Promise<void> {
    const { keptMs, keptPerNamespace } = approvalLimits;
    return this.#parts.records.prune(this.#parts.clock.wallMs() - keptMs, keptPerNamespace);
  }

  /** All who wait are told that nobody will answer. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    clearInterval(this.#pruning);
    await this.#settler.endAll(this.#pending.all, "expired", ended.stopped);
  }
}
