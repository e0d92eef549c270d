import { approvalLimits } from "../approvals/limits.ts";
import { inSeconds } from "./units.ts";

/** Settings of approvals. */
export const approvalSettings = {
  "approvals.attended": {
    type: "boolean",
    default: true,
    env: "CAISSON_APPROVALS_ATTENDED",
    help: "a person answers approval requests; if false, actions that require approval are refused immediately",
  },
  "approvals.expire_seconds": {
    type: "number",
    range: inSeconds(approvalLimits.timeoutMs),
    env: "CAISSON_APPROVALS_EXPIRE",
    help: "time in seconds after which an approval request expires",
  },
  "approvals.wait_seconds": {
    type: "number",
    range: inSeconds(approvalLimits.holdMs),
    env: "CAISSON_APPROVALS_WAIT",
    help: "time in seconds that an action waits for approval before it is refused; a later answer applies to the next attempt",
  },
} as const;
