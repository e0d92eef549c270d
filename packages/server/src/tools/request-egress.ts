import { z } from "zod";
import type { Approval } from "../core/approval.ts";
import { defined } from "../core/defined.ts";
import { requireHost } from "../egress/require-host.ts";
import { approval, requestBody, showApproval } from "../schemas/approval.ts";
import { sessionId, sessionOf, where, whereOf } from "./session.ts";
import { defineTool, type ToolCall } from "./tool.ts";

const { host, port, purpose, wait_seconds } = requestBody.shape;
const { state, scope, reason, expires_at } = approval.shape;

export const requestEgress = defineTool({
  name: "request_egress",
  title: "Ask for a network destination",
  sets: ["core"],
  permission: "use",
  description: [
    "Asks a human to let your sandbox reach a host, by name. Use it when code was refused by network policy, or before you need a host; say in purpose what for.",
    "Comes back: approval_id and state. approved: try again. pending: nobody has answered yet; call this again with wait_seconds to wait. denied: do it another way, and do not ask for the same again.",
    "Where nobody can be asked the call is refused at once.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({ domain: host, port, purpose, wait_seconds, session_id: sessionId }),
  output: z.object({
    approval_id: z.string(),
    domain: z.string(),
    port: z.number(),
    ...{ state, scope, reason, expires_at },
    ...where,
  }),
  run: async (call, { domain, port, purpose, wait_seconds, session_id }) => {
    const { caller, parts } = call;
    const host = requireHost(domain);
    const record = await sessionOf(call, session_id);
    const asked = await parts.approvals.request(caller, {
      kind: "egress",
      sandboxId: record.id,
      subject: `${host}:${port}`,
      detail: defined({ host, port, purpose }),
    });
    const found = asked.state === "pending" ? await answerOf(call, asked.id, wait_seconds * 1000) : asked;
    const { id, state, scope, reason, expires_at } = showApproval(found);
    return {
      structured: { approval_id: id, domain: host, port, state, scope, reason, expires_at, ...whereOf(record) },
    };
  },
});

/** Where a user is being asked, their answer is waited for in any case. */
function answerOf({ caller, parts, signal, answering }: ToolCall, id: string, waitMs: number): Promise<Approval> {
  const { approvals } = parts;
  const answered = waitMs > 0 ? undefined : answering?.(id);
  if (answered === undefined) return approvals.wait(caller, id, waitMs, signal);
  return approvals.wait(caller, id, approvals.holdMs, AbortSignal.any([signal, answered]));
}
