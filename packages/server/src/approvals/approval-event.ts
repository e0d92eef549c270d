import type { Approval, ApprovalKind, ApprovalState } from "../core/approval.ts";
import type { News } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";

/** Kinds whose subject is a name, and no content that the log and events must not hold. */
const named: Readonly<Record<ApprovalKind, boolean>> = { egress: true, upload: true, command: false, host: false };

export type ApprovalNews = "requested" | "known" | "used" | "revoked" | Exclude<ApprovalState, "pending">;

/** What is recorded of a question and of its answer. Names of egress have events of their own, as clients of other sandboxes know them. */
export function approvalEvents(approval: Approval, news: ApprovalNews, by: Caller | undefined): News[] {
  const { id, kind, namespace, sandboxId, runId, subject, digest, expiresAtMs, scope, reason, asked, askedBy } =
    approval;
  const about = { by: by ?? "system", namespace, sandboxId, runId } as const;
  const question = {
    approval_id: id,
    kind,
    subject: named[kind] ? subject : null,
    question_sha256: digest,
    asked_by: askedBy,
  };
  const isEgress = kind === "egress" || kind === "upload";
  if (news === "requested") {
    const data = { ...question, expires_at: new Date(expiresAtMs).toISOString() };
    const requested: News = { ...about, type: "approval.requested", data };
    return isEgress ? [requested, { ...about, type: "egress.requested", data }] : [requested];
  }
  const data = { ...question, scope, reason, decided_by: approval.decidedBy, asked };
  if (news === "known") return [{ ...about, type: "approval.known", data: { ...data, state: approval.state } }];
  const settled: News = { ...about, type: `approval.${news}`, data };
  if (!isEgress) return [settled];
  if (news === "approved") return [settled, { ...about, type: "egress.approved", data }];
  return news === "denied" || news === "expired" ? [settled, { ...about, type: "egress.denied", data }] : [settled];
}
