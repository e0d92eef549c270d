import { approvalLimits } from "../core/approval-limits.ts";
import { inSeconds } from "./units.ts";

/** Settings of questions to humans. */
export const approvalSettings = {
  "approvals.attended": {
    type: "boolean",
    default: true,
    env: "CAISSON_APPROVALS_ATTENDED",
    help: "whether there is anybody to ask; if not, what takes an approval is refused at once",
  },
  "approvals.expire_seconds": {
    type: "number",
    range: inSeconds(approvalLimits.timeoutMs),
    env: "CAISSON_APPROVALS_EXPIRE",
    help: "how long a question waits for its answer",
  },
  "approvals.wait_seconds": {
    type: "number",
    range: inSeconds(approvalLimits.holdMs),
    env: "CAISSON_APPROVALS_WAIT",
    help: "how long an attempt waits for the answer before it is refused; the next one finds it",
  },
} as const;
