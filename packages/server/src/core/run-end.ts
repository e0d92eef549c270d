import { visible } from "../lib/visible.ts";
import { advisesInstall, type NetworkRefusal, type NetworkRefusals } from "./network-refusal.ts";
import { showSeconds } from "./size.ts";

/** Limits that end a run. Too much output does not: it is truncated. */
export const runEnds = ["time", "cpu_time", "memory"] as const;
export type RunEnd = (typeof runEnds)[number];

interface Ended {
  timed_out: boolean;
  cpu_limit: boolean;
  oom_killed: boolean;
}

/** The limit that ended a run; null when none did. */
export function endedBy({ timed_out, cpu_limit, oom_killed }: Ended): RunEnd | null {
  if (timed_out) return "time";
  if (cpu_limit) return "cpu_time";
  return oom_killed ? "memory" : null;
}

/** How a surface names the limits of a run. */
export interface LimitNames extends Record<RunEnd | "output", string> {
  /** How this rule is allowed, in place of the refusal's own hint. */
  allow?: (rule: string) => string;
}

/** The part of a result that says what a run met. */
export interface RunExplained extends NetworkRefusals {
  ended_by: RunEnd | null;
  duration_ms: number;
  truncated: boolean;
}

/** Plain sentences about what a run met: the limit that ended it, truncated output, refused destinations. */
export function explainRun(result: RunExplained, names: LimitNames): string[] {
  const said: string[] = [];
  switch (result.ended_by) {
    case "time":
      said.push(`ended after ${showSeconds(roundDown(result.duration_ms))} by its time limit (${names.time})`);
      break;
    case "cpu_time":
      said.push(`ended by its CPU time limit (${names.cpu_time})`);
      break;
    case "memory":
      said.push(`out of memory (${names.memory})`);
      break;
  }
  if (result.truncated) said.push(`output truncated at its limit (${names.output})`);
  said.push(...result.refused.map((refusal) => visible(explainRefusal(refusal, names))));
  if (result.refused_truncated) said.push("output truncated: more connections were refused");
  return said;
}

function explainRefusal({ host, port, kind, reason, hint }: NetworkRefusal, { allow }: LimitNames): string {
  // A name that was only looked up is likely wanted on the usual port.
  const place = port === 0 || port === 443 ? host : `${host}:${port}`;
  const what = kind === "failed" ? "could not be reached" : "was refused";
  const isRule = kind === "denied" && allow !== undefined && !advisesInstall(hint);
  return `${place} ${what}: ${reason} (${isRule ? allow(place) : hint})`;
}

function roundDown(ms: number): number {
  const step = ms < 100 ? 1 : 100;
  return Math.floor(ms / step) * step;
}
