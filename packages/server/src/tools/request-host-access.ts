import { z } from "zod";
import { approvalLimits } from "../approvals/limits.ts";
import { approvalStates } from "../core/approval.ts";
import { waitPath } from "../core/policy-refusal.ts";
import { hostLimits } from "../host-access/limits.ts";
import { defineTool } from "./tool.ts";

export const requestHostAccess = defineTool({
  name: "request_host_access",
  title: "Ask to run commands on the host",
  sets: ["host"],
  scope: "use",
  description: [
    "Asks a human to allow host_exec to run commands that match a pattern. Returns at once with the state of the request.",
    "A pattern is a command whose words may be *: `docker restart *`. It is compared word by word; * does not match options.",
    "Request as little as the task needs, give a reason, and continue with other work while the state is `pending`; `denied` is final.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    pattern: z
      .string()
      .min(1)
      .max(hostLimits.patternChars)
      .describe("`docker ps`, `docker restart *`, `cat /var/log/nginx/*`"),
    reason: z.string().min(1).max(approvalLimits.purposeChars).optional().describe("why, for the human who decides"),
  }),
  output: z.object({
    approval_id: z.string(),
    pattern: z.string(),
    state: z.enum(approvalStates),
    reason: z.string().nullable().describe("the reason for the decision, or why there is none"),
    wait: z.string().nullable().describe("the request that waits for the answer"),
  }),
  run: async ({ caller, parts }, { pattern, reason: purpose }) => {
    const { id, subject, state, reason } = await parts.host.request(caller, pattern, purpose);
    const wait = state === "pending" ? `GET ${waitPath(id)}` : null;
    return { structured: { approval_id: id, pattern: subject, state, reason, wait } };
  },
});
