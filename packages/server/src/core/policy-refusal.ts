import type { Approval } from "./approval.ts";
import type { ApprovalKind } from "./approval-kinds.ts";
import { AppError } from "./errors.ts";

/** Refusal by policy, for the agent that tried it: nothing is broken, and this is how it could be allowed. */
export interface PolicyRefusal {
  kind: ApprovalKind;
  /** `api.example.com:443`, or what a command is called in its message. */
  what: string;
  why: string;
  /** The deciding rule; null when none matched. */
  rule: string | null;
  /** The question that was asked about it, whatever became of it. */
  approval?: Approval | undefined;
  /** How to ask, where that can help. */
  ask?: string;
  details?: Record<string, unknown>;
}

export function waitPath(id: string): string {
  return `/api/v1/approvals/${id}/wait`;
}

/** A problem whose details an agent can act on: the id to wait for, and where. */
export function refused({ kind, what, why, rule, approval, ask, details }: PolicyRefusal): AppError {
  return new AppError("forbidden", `${what} is not allowed: ${why}`, {
    hint: hintOf(approval, ask),
    details: {
      refused: kind,
      what,
      rule,
      ...details,
      ...(approval === undefined
        ? {}
        : {
            approval_id: approval.id,
            approval_state: approval.state,
            ...(approval.state === "pending" ? { wait: `GET ${waitPath(approval.id)}` } : {}),
          }),
    },
  });
}

function hintOf(approval: Approval | undefined, ask = "try another way, or ask an operator"): string {
  const policy = "refused by policy: the sandbox and the network work";
  switch (approval?.state) {
    case undefined:
      return `${policy}; ${ask}`;
    case "pending":
      return `${policy}; approval is pending: wait with GET ${waitPath(approval.id)} or caisson approvals wait ${approval.id}, then try again`;
    case "expired":
    case "cancelled":
      return `${policy}; nobody decided in time: the next attempt requests approval again`;
    default:
      return `${policy}; a human has decided: try another way`;
  }
}

/** Returns the outcome of an approval, as the reason of a refusal. */
export function whyOf({ state, reason }: Approval): string {
  const because = reason === null ? "" : `: ${reason}`;
  switch (state) {
    case "pending":
      return "it waits for approval";
    case "denied":
      return `denied by a human${because}`;
    case "expired":
      return `not approved in time${because}`;
    case "cancelled":
      return `the approval request was cancelled${because}`;
    case "approved":
      return "its approval has been used";
  }
}
