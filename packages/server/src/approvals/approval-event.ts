import type { Approval, ApprovalState } from "../core/approval.ts";
import { approvalKinds } from "../core/approval-kinds.ts";
import type { News } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";

export type ApprovalNews = "requested" | "known" | "used" | "revoked" | Exclude<ApprovalState, "pending">;

/** Events that record a question and its answer. Egress has events of its own beside them, as clients of other sandboxes know them. */
export function approvalEvents(approval: Approval, news: ApprovalNews, by: Caller | undefined): News[] {
  const { id, kind, namespace, sandboxId, runId, subject, digest, expiresAtMs, scope, reason, asked, askedBy } =
    approval;
  const { nameable, events } = approvalKinds[kind];
  const about = { by: by ?? "system", namespace, sandboxId, runId } as const;
  const question = {
    approval_id: id,
    kind,
    subject: nameable ? subject : null,
    question_sha256: digest,
    asked_by: askedBy,
  };
  if (news === "requested") {
    const data = { ...question, expires_at: new Date(expiresAtMs).toISOString() };
    const requested: News = { ...about, type: "approval.requested", data };
    return events === undefined ? [requested] : [requested, { ...about, type: `${events}.requested`, data }];
  }
  const data = { ...question, scope, reason, decided_by: approval.decidedBy, asked };
  if (news === "known") return [{ ...about, type: "approval.known", data: { ...data, state: approval.state } }];
  const settled: News = { ...about, type: `approval.${news}`, data };
  if (events === undefined) return [settled];
  if (news === "approved") return [settled, { ...about, type: `${events}.approved`, data }];
  return news === "denied" || news === "expired" ? [settled, { ...about, type: `${events}.denied`, data }] : [settled];
}
