import { constants } from "node:os";
import type { ProcessResult } from "../core/process-result.ts";
import type { ExitRecord } from "../core/wire.ts";

/** Of two names for a number the first is the usual one. */
const signalNames = new Map(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name]),
);

export function signalName(number: number | null): string | null {
  return number === null ? null : (signalNames.get(number) ?? `SIG${number}`);
}

/** The guest's word, and the kernel's on memory. */
export function toProcessResult(exit: ExitRecord, oomKilled: boolean): ProcessResult {
  return {
    exit_code: exit.exitCode ?? 128 + (exit.signal ?? 0),
    signal: signalName(exit.signal),
    duration_ms: exit.durationMs,
    cpu_ms: exit.cpuMs,
    max_rss: exit.maxRssBytes,
    timed_out: exit.timedOut,
    cpu_limit: exit.cpuLimit,
    oom_killed: oomKilled || exit.memoryLimit,
  };
}
