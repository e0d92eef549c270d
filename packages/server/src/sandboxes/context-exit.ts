import type { ContextRunResult } from "../core/context.ts";
import type { ProcessResult } from "../core/process-result.ts";

/** A context has no exit code of its own: code that failed counts as 1, unless its interpreter ended with another. */
export function contextExit({
  error,
  ended,
}: Pick<ContextRunResult, "error" | "ended">): Pick<ProcessResult, "exit_code" | "signal" | "oom_killed"> {
  return {
    exit_code: error === undefined ? 0 : (ended?.exit_code ?? 1),
    signal: ended?.signal ?? null,
    oom_killed: ended?.oom_killed ?? false,
  };
}
