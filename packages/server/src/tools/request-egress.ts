import { z } from "zod";
import { approvalLimits } from "../approvals/limits.ts";
import type { Approval } from "../core/approval.ts";
import { requireHost } from "../egress/require-host.ts";
import { defined } from "../lib/defined.ts";
import { approval, requestBody, showApproval } from "../schemas/approval.ts";
import { sessionId, sessionOf, where, whereOf } from "./session.ts";
import { defineTool, type ToolCall } from "./tool.ts";

const { host, port, purpose, wait_seconds } = requestBody.shape;
const { state, scope, reason, expires_at } = approval.shape;

export const requestEgress = defineTool({
  name: "request_egress",
  title: "Ask for a network destination",
  sets: ["core"],
  scope: "use",
  description: [
    "Asks a human to allow your sandbox to connect to a host, by name. Use it if network policy refused your code, or before you need a host; give the reason in purpose.",
    "Waits for the decision, at most 4 minutes; with wait: false it returns at once, and you can continue with other work.",
    "Returns approval_id and state. approved: try again. pending: no answer yet; call this again to wait. denied: use another way, and do not request the same again. expired: no answer in time.",
    "If no human answers approvals, the call is refused at once.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    ...{ domain: host, port, purpose },
    wait: z.boolean().default(true).describe("false: returns at once"),
    wait_seconds: wait_seconds.unwrap().optional().describe("maximum time to wait"),
    session_id: sessionId,
  }),
  output: z.object({
    approval_id: z.string(),
    domain: z.string(),
    port: z.number(),
    ...{ state, scope, reason, expires_at },
    ...where,
  }),
  run: async (call, { domain, port, purpose, wait, wait_seconds, session_id }) => {
    const { caller, parts } = call;
    const host = requireHost(domain);
    const record = await sessionOf(call, session_id);
    const asked = await parts.approvals.request(caller, {
      kind: "egress",
      sandboxId: record.id,
      subject: `${host}:${port}`,
      detail: defined({ host, port, purpose }),
    });
    const waitMs = wait ? (wait_seconds === undefined ? undefined : wait_seconds * 1000) : 0;
    const found = asked.state === "pending" ? await answerOf(call, asked.id, waitMs) : asked;
    const { id, state, scope, reason, expires_at } = showApproval(found);
    return {
      structured: { approval_id: id, domain: host, port, state, scope, reason, expires_at, ...whereOf(record) },
    };
  },
});

/**
 * Waits for as long as it is told. Without that: where a user is being asked until they have answered or closed the question,
 * elsewhere until it is decided.
 */
function answerOf({ caller, parts, signal, answering }: ToolCall, id: string, waitMs?: number): Promise<Approval> {
  const { approvals } = parts;
  const answered = waitMs === undefined || waitMs === 0 ? answering?.(id) : undefined;
  const mostMs = waitMs ?? approvalLimits.holdMs.max;
  if (answered === undefined) return approvals.wait(caller, id, mostMs, signal);
  return approvals.wait(caller, id, Math.max(mostMs, approvals.holdMs), AbortSignal.any([signal, answered]));
}
