/** One question for all who ask the same, and none for what was answered before. */
import {
  type Approval,
  type ApprovalEffects,
  type ApprovalSettings,
  approvalScopes,
  type Question,
} from "../core/approval.ts";
import { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";
import type { Clock } from "../lib/clock.ts";
import type { ApprovalBook } from "./approval-book.ts";
import { approvalLimits } from "./limits.ts";
import type { Pending, PendingQuestions } from "./pending.ts";
import { checkQuestion, digestOf, keyOf, newApproval, timeoutOf } from "./question.ts";

export interface QuestionAskerParts {
  pending: PendingQuestions;
  book: ApprovalBook;
  clock: Clock;
  settings: ApprovalSettings;
  effects: ApprovalEffects;
  /** Refuses where nobody can be asked, or no longer. */
  checkOpen: (question: Question) => void;
  /** The time of a question is over. */
  late: (entry: Pending) => void;
}

export class QuestionAsker {
  readonly #parts: QuestionAskerParts;

  constructor(parts: QuestionAskerParts) {
    this.#parts = parts;
  }

  /** An attempt, which has no caller, is counted from here on, so that a yes for once is not lost on its way. */
  async ask(question: Question, caller: Caller | undefined): Promise<Approval> {
    const { pending, settings, checkOpen } = this.#parts;
    checkOpen(question);
    checkQuestion(question);
    const timeoutMs = timeoutOf(question, settings.timeoutMs);
    const digest = digestOf(question);
    const key = keyOf({ ...question, digest });
    const attempt = caller === undefined ? 1 : 0;
    for (;;) {
      const known = pending.withKey(key);
      if (known === undefined) {
        const entry = pending.reserve(key, question.namespace, question.sandboxId);
        entry.asked = 1;
        entry.attempts = attempt;
        entry.opened = this.#open(entry, { ...question, timeoutMs }, digest, caller);
        return entry.opened;
      }
      if (known.settling !== undefined) {
        await known.settling;
        checkOpen(question);
        continue;
      }
      if (known.attempts + attempt > approvalLimits.attempts)
        throw new AppError(
          "limit_exceeded",
          `too many attempts wait for this approval (limit: ${approvalLimits.attempts})`,
        );
      known.asked++;
      known.attempts += attempt;
      const opened = await known.opened;
      if (known.approval !== undefined) return known.approval;
      // Whoever came first has taken the one use of it.
      if (opened.scope !== "once") return opened;
    }
  }

  async #open(
    entry: Pending,
    question: Question & { timeoutMs: number },
    digest: string,
    caller: Caller | undefined,
  ): Promise<Approval> {
    const { pending, book, clock, late } = this.#parts;
    try {
      const answered =
        (await this.#answered({ ...question, digest }, caller)) ?? (await this.#known(question, digest, caller));
      if (answered !== undefined) {
        pending.release(entry);
        return answered;
      }
      pending.countNew(question.namespace, question.sandboxId, clock.monotonicMs());
      const approval = newApproval(question, digest, clock.wallMs(), caller);
      pending.publish(entry, approval);
      await book.asked(approval, caller);
      entry.timer = setTimeout(() => late(entry), question.timeoutMs);
      return approval;
    } catch (error) {
      pending.release(entry);
      throw error;
    }
  }

  /** How the same was answered before, with its one use taken where it has one and this is an attempt. */
  async #answered(
    question: Pick<Approval, "namespace" | "kind" | "sandboxId" | "digest">,
    caller: Caller | undefined,
  ): Promise<Approval | undefined> {
    const { book, effects } = this.#parts;
    // A rule that an answer has become may have been taken out of the policy since: then the answer holds no more.
    const scopes = effects[question.kind] === undefined ? approvalScopes : (["once"] as const);
    for (;;) {
      const found = await book.standing(question, scopes);
      if (found?.scope !== "once" || caller !== undefined) return found;
      const used = await book.used(found);
      if (used !== undefined) return used;
    }
  }

  /** The decision that is in force already, for a request made in advance. */
  async #known(
    question: Question & { timeoutMs: number },
    digest: string,
    caller: Caller | undefined,
  ): Promise<Approval | undefined> {
    const { pending, book, clock, effects } = this.#parts;
    const known = caller === undefined ? undefined : effects[question.kind]?.known?.(question);
    if (known === undefined) return undefined;
    pending.countNew(question.namespace, question.sandboxId, clock.monotonicMs());
    const approval = newApproval(question, digest, clock.wallMs(), caller);
    return book.known(approval, known.approve, known.reason);
  }
}
