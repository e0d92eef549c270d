import type { ContextOptions, ContextRunOptions } from "../core/context.ts";
import { AppError } from "../core/errors.ts";
import { checkNames } from "../core/resource-limits.ts";
import type { RunLimits } from "../core/run.ts";
import { readLimits } from "./read-run-request.ts";

const contextNames = ["language", "cwd", "env", "limits", "resource_limits"];
const runNames = ["id", "limits", "resource_limits", "stdin", "onStdout", "onStderr", "signal"];

/** Options of a context, under one name each. Refuses limits that only a run has. */
export function readContextOptions(given: ContextOptions): ContextOptions {
  checkNames(given, contextNames, "a context");
  const { resource_limits: _, ...rest } = given;
  const limits = readLimits(given, "a context");
  const { timeoutMs, cpuTimeMs, outputBytes } = limits;
  if (timeoutMs !== undefined || cpuTimeMs !== undefined || outputBytes !== undefined)
    throw new AppError("unsupported", "a context has no limit of time or output: its interpreter lives on", {
      hint: "set timeout_seconds, cpu_time_seconds and max_output_bytes of each run in it",
    });
  return { ...rest, limits };
}

/** Limits of a run in a context. Refuses those that its interpreter had to be started with. */
export function readContextRunLimits(given: ContextRunOptions): Partial<RunLimits> {
  checkNames(given, runNames, "a run in a context");
  const limits = readLimits(given, "a run in a context");
  if (limits.memoryBytes !== undefined || limits.processes !== undefined)
    throw new AppError(
      "unsupported",
      "a run in a context has no limit of memory or processes: it shares an interpreter with the runs before it",
      {
        hint: "set max_ram_mb and max_processes when the context is created, or run the code as a process of its own (`stateful: false` in execute_code)",
      },
    );
  return limits;
}
