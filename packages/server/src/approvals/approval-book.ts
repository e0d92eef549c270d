import type { Approval, ApprovalRecords, ApprovalScope } from "../core/approval.ts";
import { AppError } from "../core/errors.ts";
import type { Recorder } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";
import type { Clock } from "../lib/clock.ts";
import { type ApprovalNews, approvalEvents } from "./approval-event.ts";
import { approvalLimits } from "./limits.ts";

export interface BookParts {
  records: ApprovalRecords;
  journal: Recorder;
  clock: Clock;
}

/** Changes records of questions together with the events that tell of them. What it resolves would survive a kill -9. */
export class ApprovalBook {
  readonly #parts: BookParts;

  constructor(parts: BookParts) {
    this.#parts = parts;
  }

  asked(approval: Approval, caller: Caller | undefined): Promise<void> {
    const { journal, records } = this.#parts;
    return journal.recordAll(approvalEvents(approval, "requested", caller), (within) =>
      records.insert(approval, within),
    );
  }

  /** On record, so that it can be looked up like any other; nobody was asked. */
  async known(approval: Approval, approve: boolean, reason: string): Promise<Approval> {
    const { journal, records } = this.#parts;
    const state = approve ? "approved" : "denied";
    const settled: Approval = { ...approval, state, reason, decidedAtMs: approval.createdAtMs };
    await journal.recordAll(approvalEvents(settled, "known", undefined), (within) => records.insert(settled, within));
    return settled;
  }

  async changed(
    approval: Approval,
    changes: Partial<Approval>,
    news: Exclude<ApprovalNews, "requested" | "known" | "used">,
    caller: Caller | undefined,
  ): Promise<Approval> {
    const { journal, records } = this.#parts;
    const after = { ...approval, ...changes };
    await journal.recordAll(approvalEvents(after, news, caller), (within) =>
      records.update(approval.id, changes, within),
    );
    return after;
  }

  standing(
    question: Pick<Approval, "namespace" | "kind" | "sandboxId" | "digest">,
    scopes: readonly ApprovalScope[],
  ): Promise<Approval | undefined> {
    const { records, clock } = this.#parts;
    return records.standing(question, scopes, clock.wallMs() - approvalLimits.onceMs);
  }

  /** Takes the one use of a yes for once; undefined when it was taken already. */
  async used(approval: Approval): Promise<Approval | undefined> {
    const { journal, records, clock } = this.#parts;
    const usedAtMs = clock.wallMs();
    const used = { ...approval, usedAtMs };
    try {
      await journal.recordAll(approvalEvents(used, "used", undefined), (within) =>
        records.use(approval.id, usedAtMs, within),
      );
      return used;
    } catch (error) {
      if (error instanceof AppError && error.code === "conflict") return undefined;
      throw error;
    }
  }
}
