import { createHash, randomUUID } from "node:crypto";
import type { Approval, Question } from "../core/approval.ts";
import { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";
import { checkRange } from "../core/size.ts";
import { approvalLimits } from "./limits.ts";

const seconds = (ms: number) => `${ms / 1000} s`;

/** Refuses what no human could be shown. Nothing is cut: what is approved is what was shown. */
export function checkQuestion({ subject, text = "", detail }: Omit<Question, "namespace">): void {
  const { subjectChars, shownChars, details, detailNameChars } = approvalLimits;
  if (subject.length === 0 || subject.length > subjectChars)
    throw new AppError("too_large", `the subject of an approval request must have 1 to ${subjectChars} characters`);
  const rows = Object.entries(detail);
  if (rows.length > details || rows.some(([name]) => name.length > detailNameChars))
    throw new AppError("too_large", `too many details in an approval request (limit: ${details})`);
  const shown = rows.reduce((sum, [, value]) => sum + String(value).length, text.length);
  if (shown > shownChars)
    throw new AppError("too_large", `too long to show to an approver (limit: ${shownChars} characters)`);
}

export function timeoutOf({ timeoutMs }: Pick<Question, "timeoutMs">, usualMs: number): number {
  return checkRange(timeoutMs ?? usualMs, approvalLimits.timeoutMs, "the time for an answer", seconds);
}

export function digestOf({ kind, subject, text, compared }: Omit<Question, "namespace">): string {
  return createHash("sha256")
    .update(JSON.stringify([kind, compared ?? text ?? subject]))
    .digest("hex");
}

/** The same for all who ask the same, and for nobody else. */
export function keyOf({ namespace, sandboxId, digest }: Pick<Approval, "namespace" | "sandboxId" | "digest">): string {
  return JSON.stringify([namespace, sandboxId, digest]);
}

export function newApproval(
  { kind, namespace, sandboxId, runId, subject, text, detail, timeoutMs }: Question & { timeoutMs: number },
  digest: string,
  nowMs: number,
  caller: Caller | undefined,
): Approval {
  return {
    id: `apr_${randomUUID()}`,
    kind,
    namespace,
    sandboxId,
    runId: runId ?? null,
    subject,
    text: text ?? null,
    digest,
    detail,
    state: "pending",
    createdAtMs: nowMs,
    expiresAtMs: nowMs + timeoutMs,
    scope: null,
    reason: null,
    askedBy: caller?.principal.id ?? null,
    decidedBy: null,
    decidedAtMs: null,
    usedAtMs: null,
    revokedAtMs: null,
    asked: 1,
  };
}
