import { hash } from "node:crypto";
import type { Happening } from "../core/journal.ts";
import type { ObservedResult } from "../core/run-observer.ts";
import type { RunRecord } from "../core/run-record.ts";

/** The limits that a run has met. */
export function exceeded(result: ObservedResult | undefined): ("memory" | "cpu_time")[] {
  return [...(result?.oom_killed ? (["memory"] as const) : []), ...(result?.cpu_limit ? (["cpu_time"] as const) : [])];
}

/** The end of a run, in numbers and hashes: output, paths and messages may hold what the log must not. */
export function endOf(
  record: RunRecord,
  result: ObservedResult | undefined,
): Happening<"execution.completed" | "execution.failed" | "execution.timeout"> {
  const { exit_code, duration_ms, timed_out, oom_killed, cpu_limit, ended_by, error } = record;
  if (result === undefined) {
    const data = { exit_code: null, duration_ms, ended_by, error_code: error?.code ?? "internal" } as const;
    return { type: "execution.failed", data };
  }
  const data = {
    ...{ exit_code, duration_ms, timed_out, oom_killed, cpu_limit, ended_by },
    files_changed: result.files_changed.length,
    files_changed_sha256: hash("sha256", JSON.stringify(result.files_changed)),
    ...(record.stdout === "" ? {} : { stdout_sha256: hash("sha256", record.stdout) }),
    ...(record.stderr === "" ? {} : { stderr_sha256: hash("sha256", record.stderr) }),
  };
  if (record.outcome === "failed") return { type: "execution.failed", data: { ...data, error_code: null } };
  return { type: `execution.${record.outcome}`, data };
}
