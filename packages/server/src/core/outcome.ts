import { endedBy, type RunEnd } from "./run-end.ts";

export const outcomes = ["completed", "failed", "timeout"] as const;

/** How a run ended: results, records, the audit log, events and webhooks say the same. */
export interface Outcome {
  /** `completed`: with exit code 0. `timeout`: at its time limit. `failed`: otherwise, also without any result. */
  outcome: (typeof outcomes)[number];
  /** The limit that ended it; null when none did. */
  ended_by: RunEnd | null;
}

interface Ended {
  exit_code: number;
  timed_out: boolean;
  cpu_limit: boolean;
  oom_killed: boolean;
}

/** Undefined: the run has no result. */
export function outcomeOf(result: Ended | undefined): Outcome {
  if (result === undefined) return { outcome: "failed", ended_by: null };
  const ended_by = endedBy(result);
  if (ended_by === "time") return { outcome: "timeout", ended_by };
  return { outcome: result.exit_code === 0 ? "completed" : "failed", ended_by };
}
