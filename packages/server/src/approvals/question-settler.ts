/** Each question is settled once: by whoever decides it, by its time, or with its sandbox; the others come too late. */
import type { Approval, ApprovalEffects } from "../core/approval.ts";
import type { Caller } from "../core/principal.ts";
import type { Clock } from "../lib/clock.ts";
import type { ApprovalBook } from "./approval-book.ts";
import { ended } from "./ended.ts";
import type { Pending, PendingQuestions } from "./pending.ts";

export interface QuestionSettlerParts {
  pending: PendingQuestions;
  book: ApprovalBook;
  clock: Clock;
  effects: ApprovalEffects;
  onError: (error: unknown) => void;
}

type Outcome = Pick<Approval, "scope" | "reason"> & { state: Exclude<Approval["state"], "pending"> };
type HumanDecision = Outcome & { state: "approved" | "denied"; scope: NonNullable<Approval["scope"]> };

export class QuestionSettler {
  readonly #parts: QuestionSettlerParts;

  constructor(parts: QuestionSettlerParts) {
    this.#parts = parts;
  }

  /** Only while nobody else settles it. When it fails the question is pending as before. */
  async decide(entry: Pending, approval: Approval, answer: HumanDecision, caller: Caller): Promise<Approval> {
    const hold = async () => {
      const { state, scope } = answer;
      if (scope === "once") return;
      await this.#parts.effects[approval.kind]?.hold(approval, { approve: state === "approved", scope }, caller);
    };
    try {
      return await this.#settle(entry, approval, answer, caller, hold);
    } catch (error) {
      if (entry.isOverdue) this.late(entry);
      throw error;
    }
  }

  late(entry: Pending): void {
    entry.isOverdue = true;
    void this.#end(entry, { state: "expired", scope: null, reason: ended.late });
  }

  /** Also those that are just being written down, or decided. */
  async endAll(entries: readonly Pending[], state: "expired" | "cancelled", reason: string): Promise<void> {
    const end = async (entry: Pending) => {
      const opened = await entry.opened.catch(() => undefined);
      await entry.settling;
      if (opened !== undefined) await this.#end(entry, { state, scope: null, reason });
    };
    await Promise.all(entries.map(end));
  }

  /** Answers those who wait even if the decision cannot be stored: then it is a denial. */
  async #end(entry: Pending, outcome: Outcome): Promise<void> {
    const { approval } = entry;
    if (approval === undefined || entry.settling !== undefined) return;
    await this.#settle(entry, approval, outcome, undefined).catch((error: unknown) => {
      this.#finish(entry, { ...approval, ...outcome });
      this.#parts.onError(error);
    });
  }

  async #settle(
    entry: Pending,
    approval: Approval,
    outcome: Outcome,
    caller: Caller | undefined,
    hold?: () => Promise<void>,
  ): Promise<Approval> {
    const { promise, resolve } = Promise.withResolvers<void>();
    entry.settling = promise;
    try {
      await hold?.();
      const nowMs = this.#parts.clock.wallMs();
      const isUsed = outcome.state === "approved" && outcome.scope === "once" && entry.attempts > 0;
      const changes = {
        ...outcome,
        decidedBy: caller?.principal.id ?? null,
        decidedAtMs: nowMs,
        usedAtMs: isUsed ? nowMs : null,
        asked: entry.asked,
      };
      return this.#finish(entry, await this.#parts.book.changed(approval, changes, outcome.state, caller));
    } catch (error) {
      entry.settling = undefined;
      throw error;
    } finally {
      resolve();
    }
  }

  #finish(entry: Pending, settled: Approval): Approval {
    clearTimeout(entry.timer);
    this.#parts.pending.release(entry);
    entry.approval = settled;
    entry.settled.resolve(settled);
    return settled;
  }
}
