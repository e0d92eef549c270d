import type { Approval, ApprovalRecords, ApprovalScope } from "../core/approval.ts";
import { approvalLimits } from "../core/approval-limits.ts";
import type { Clock } from "../core/clock.ts";
import type { Caller } from "../core/principal.ts";
import { type ApprovalNews, logApproval, publishApproval, type TellParts } from "./tell-approval.ts";

export interface LedgerParts extends TellParts {
  records: ApprovalRecords;
  clock: Clock;
}

/** Where questions and answers are written: store and log, then events. What it resolves would survive a kill -9. */
export class ApprovalLedger {
  readonly #parts: LedgerParts;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
  }

  async asked(approval: Approval, caller: Caller | undefined): Promise<void> {
    await both(this.#parts.records.insert(approval), logApproval(this.#parts, approval, "requested", caller));
    publishApproval(this.#parts, approval, "requested");
  }

  /** On record, so that it can be looked up like any other; nobody was asked, and nobody is told. */
  async known(approval: Approval, approve: boolean, reason: string): Promise<Approval> {
    const state = approve ? "approved" : "denied";
    const settled: Approval = { ...approval, state, reason, decidedAtMs: approval.createdAtMs };
    await both(this.#parts.records.insert(settled), logApproval(this.#parts, settled, state, undefined));
    return settled;
  }

  async changed(
    approval: Approval,
    changes: Partial<Approval>,
    news: Exclude<ApprovalNews, "requested" | "used">,
    caller: Caller | undefined,
  ): Promise<Approval> {
    const after = { ...approval, ...changes };
    await both(this.#parts.records.update(approval.id, changes), logApproval(this.#parts, after, news, caller));
    publishApproval(this.#parts, after, news);
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
    const { records, clock } = this.#parts;
    const usedAtMs = clock.wallMs();
    if (!(await records.use(approval.id, usedAtMs))) return undefined;
    const used = { ...approval, usedAtMs };
    await logApproval(this.#parts, used, "used", undefined);
    return used;
  }
}

async function both(stored: Promise<void>, logged: Promise<void>): Promise<void> {
  const failed = (await Promise.allSettled([stored, logged])).find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
