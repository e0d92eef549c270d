import type { Approvals } from "../core/approval.ts";
import { approvalLimits } from "../core/approval-limits.ts";
import { refused, whyOf } from "../core/refusal.ts";

interface HostQuestion {
  namespace: string;
  /** The command, quoted: a pattern that matches it alone. */
  subject: string;
  rule: string | null;
  /** The key whose attempt it is. */
  askedBy: string;
}

/** Asks a human whether a command may run on the host, and waits for a while. Resolves with the approval's id; throws the refusal. */
export async function askHost(
  approvals: Approvals,
  { namespace, subject, rule, askedBy }: HostQuestion,
  signal: AbortSignal | undefined,
): Promise<string> {
  const refusal = { kind: "host", what: "this command", rule } as const;
  if (subject.length > approvalLimits.subjectChars)
    throw refused({ ...refusal, why: "it takes a human's approval, and is too long to be shown to one" });
  const asked = await approvals.ask({
    kind: "host",
    namespace,
    sandboxId: null,
    subject,
    detail: { rule, asked_by: askedBy },
  });
  const waits = [AbortSignal.timeout(approvals.holdMs), ...(signal === undefined ? [] : [signal])];
  const answer = asked.state === "pending" ? await approvals.settled(asked.id, AbortSignal.any(waits)) : asked;
  if (answer.state === "approved") return answer.id;
  throw refused({ ...refusal, why: whyOf(answer), approval: answer });
}
