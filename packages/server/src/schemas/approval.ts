import { z } from "zod";
import { approvalLimits } from "../approvals/limits.ts";
import { type Approval, approvalScopes, approvalStates } from "../core/approval.ts";
import { approvalKindNames } from "../core/approval-kinds.ts";
import { httpLimits } from "../http/limits.ts";
import { pageQuery } from "./page.ts";
import { written } from "./written.ts";

const { timeoutMs, reasonChars, purposeChars } = approvalLimits;
const id = z.string().min(1).max(64);
const wait = z.number().min(httpLimits.waitSeconds.min).max(httpLimits.waitSeconds.max);

export const approval = z
  .object({
    id: z.string(),
    kind: z.enum(approvalKindNames),
    namespace: z.string(),
    sandbox_id: z.string().nullable().describe("null: the request is for the whole namespace"),
    run_id: z.string().nullable().describe("first run that needed the approval; null: none"),
    subject: z.string().describe("requested access; code in a sandbox may have chosen the text"),
    text: z.string().nullable().describe("full text, if the subject is shortened"),
    detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
    state: z.enum(approvalStates),
    scope: z.enum(approvalScopes).nullable().describe("scope of the decision"),
    reason: z.string().nullable().describe("reason of the approver, or why there is no decision"),
    asked: z.number().int().describe("number of attempts that needed this approval"),
    asked_by: z.string().nullable().describe("key of the requester; null: code in the sandbox"),
    decided_by: z.string().nullable().describe("key of the approver"),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().describe("time after which the request can no longer be decided"),
    decided_at: z.iso.datetime().nullable(),
    used_at: z.iso.datetime().nullable().describe("time when an approval with the scope once was used"),
    revoked_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "Approval" });

export const requestBody = z
  .strictObject({
    kind: z.literal("egress").default("egress"),
    host: z.string().min(1).max(253).describe("host name, without scheme or path"),
    port: z.number().int().min(1).max(65_535).default(443),
    sandbox_id: id.optional().describe("sandbox that needs access (default: the whole namespace)"),
    purpose: z.string().max(purposeChars).optional().describe("reason, shown to the approver"),
    timeout_seconds: z
      .number()
      .min(timeoutMs.min / 1000)
      .max(timeoutMs.max / 1000)
      .optional()
      .describe("time after which the request expires"),
    wait_seconds: wait.default(0).describe("time that this call waits for the decision"),
  })
  .meta({ id: "RequestApproval" });

export const decisionBody = z
  .strictObject({
    approve: z.boolean(),
    scope: z
      .enum(approvalScopes)
      .optional()
      .describe(
        "once: the waiting attempts, or the next one; sandbox: for the life of the sandbox; always: for the whole namespace",
      ),
    reason: z.string().max(reasonChars).optional().describe("shown to the requester"),
  })
  .meta({ id: "ApprovalDecision" });

export const listQuery = pageQuery.extend({
  limit: written(z.number().int().min(1).max(approvalLimits.pendingPerNamespace))
    .default(httpLimits.page.default)
    .describe("entries per page"),
  state: z.enum(approvalStates).optional(),
  kind: z.enum(approvalKindNames).optional(),
  sandbox_id: id.optional(),
});

export const waitQuery = z.strictObject({
  timeout_seconds: written(z.number().min(httpLimits.waitSeconds.min).max(httpLimits.waitSeconds.max)).default(
    httpLimits.waitSeconds.default,
  ),
});

export const approvalId = z.strictObject({ id });

const time = (ms: number) => new Date(ms).toISOString();
const maybe = (ms: number | null) => (ms === null ? null : time(ms));

export function showApproval(one: Approval): z.output<typeof approval> {
  return {
    id: one.id,
    kind: one.kind,
    namespace: one.namespace,
    sandbox_id: one.sandboxId,
    run_id: one.runId,
    subject: one.subject,
    text: one.text,
    detail: { ...one.detail },
    state: one.state,
    scope: one.scope,
    reason: one.reason,
    asked: one.asked,
    asked_by: one.askedBy,
    decided_by: one.decidedBy,
    created_at: time(one.createdAtMs),
    expires_at: time(one.expiresAtMs),
    decided_at: maybe(one.decidedAtMs),
    used_at: maybe(one.usedAtMs),
    revoked_at: maybe(one.revokedAtMs),
  };
}
