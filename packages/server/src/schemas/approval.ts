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
    sandbox_id: z.string().nullable().describe("null: it concerns the whole namespace"),
    run_id: z.string().nullable().describe("the run that asked first; null: no run did"),
    subject: z.string().describe("what is asked for; code in a sandbox may have chosen it"),
    text: z.string().nullable().describe("all of it, where the subject is a part"),
    detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
    state: z.enum(approvalStates),
    scope: z.enum(approvalScopes).nullable().describe("how far the answer reaches"),
    reason: z.string().nullable().describe("of whoever decided, or why nobody did"),
    asked: z.number().int().describe("how many attempts have asked the same"),
    asked_by: z.string().nullable().describe("the key that asked; null: code in the sandbox"),
    decided_by: z.string().nullable().describe("the key that decided"),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().describe("until then it can be decided"),
    decided_at: z.iso.datetime().nullable(),
    used_at: z.iso.datetime().nullable().describe("of a yes for once: when its attempt went ahead"),
    revoked_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "Approval" });

export const requestBody = z
  .strictObject({
    kind: z.literal("egress").default("egress"),
    host: z.string().min(1).max(253).describe("a name, without scheme or path"),
    port: z.number().int().min(1).max(65_535).default(443),
    sandbox_id: id.optional().describe("that needs it; the whole namespace unless told"),
    purpose: z.string().max(purposeChars).optional().describe("what it is needed for, shown to whoever decides"),
    timeout_seconds: z
      .number()
      .min(timeoutMs.min / 1000)
      .max(timeoutMs.max / 1000)
      .optional()
      .describe("how long the question waits for its answer"),
    wait_seconds: wait.default(0).describe("how long this call waits for it"),
  })
  .meta({ id: "RequestApproval" });

export const decisionBody = z
  .strictObject({
    approve: z.boolean(),
    scope: z
      .enum(approvalScopes)
      .optional()
      .describe(
        "once: the attempts that wait, or the next one; sandbox: as long as it lives; always: the whole namespace",
      ),
    reason: z.string().max(reasonChars).optional().describe("shown to whoever asked"),
  })
  .meta({ id: "ApprovalDecision" });

export const listQuery = pageQuery.extend({
  limit: written(z.number().int().min(1).max(approvalLimits.pendingPerNamespace))
    .default(httpLimits.page.default)
    .describe("entries of one page"),
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
