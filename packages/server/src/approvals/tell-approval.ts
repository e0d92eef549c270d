import type { Approval, ApprovalKind, ApprovalState } from "../core/approval.ts";
import type { Audit } from "../core/audit.ts";
import type { Feed, FeedType } from "../core/feed.ts";
import type { Caller } from "../core/principal.ts";

export interface TellParts {
  audit: Pick<Audit, "record">;
  feed: Pick<Feed, "publish">;
}

/** Kinds whose subject is a name, and no content that the log and events must not hold. */
const named: Readonly<Record<ApprovalKind, boolean>> = { egress: true, upload: true, command: false, host: false };

export type ApprovalNews = "requested" | "used" | "revoked" | Exclude<ApprovalState, "pending">;

/** Into the timeline; rejects when it could not be written. */
export async function logApproval(
  { audit }: TellParts,
  approval: Approval,
  news: ApprovalNews,
  actor: Caller | undefined,
): Promise<void> {
  const { id, kind, namespace, sandboxId, runId, subject, digest, scope, reason, asked, askedBy } = approval;
  await audit.record({
    type: `approval.${news}`,
    namespace,
    actor: actor?.principal.id ?? "system",
    sandboxId,
    requestId: actor?.requestId ?? null,
    ...(runId === null ? {} : { runId }),
    detail: {
      approval_id: id,
      kind,
      ...(named[kind] ? { subject } : {}),
      question_sha256: digest,
      asked_by: askedBy,
      ...(news === "requested" ? {} : { scope, reason, asked }),
    },
  });
}

/** To whoever follows events. Names of egress have events of their own, as clients of other sandboxes know them. */
export function publishApproval({ feed }: TellParts, approval: Approval, news: Exclude<ApprovalNews, "used">): void {
  const { id, kind, namespace, sandboxId, subject, expiresAtMs, scope, reason, decidedBy } = approval;
  const data = {
    approval_id: id,
    kind,
    subject: named[kind] ? subject : null,
    ...(news === "requested"
      ? { expires_at: new Date(expiresAtMs).toISOString() }
      : { scope, reason, decided_by: decidedBy }),
  };
  feed.publish({ type: `approval.${news}`, namespace, sandboxId, data });
  const type = kind === "egress" || kind === "upload" ? egressNews[news] : undefined;
  if (type !== undefined) feed.publish({ type, namespace, sandboxId, data });
}

const egressNews: Readonly<Partial<Record<ApprovalNews, FeedType>>> = {
  requested: "egress.requested",
  approved: "egress.approved",
  denied: "egress.denied",
  expired: "egress.denied",
};
