import { AppError } from "../core/errors.ts";
import type { ProcessRequest } from "../core/process.ts";
import { checkNames } from "../core/resource-limits.ts";
import { readLimits } from "./read-run-request.ts";

const names = ["runId", "command", "cwd", "env", "stdin", "terminal", "limits", "resource_limits"];

/** A process in the background, under one name for each option. Refuses a limit that only a run has. */
export function readProcessRequest(given: ProcessRequest): ProcessRequest {
  checkNames(given, names, "a process");
  const { resource_limits: _, ...rest } = given;
  const limits = readLimits(given, "a process");
  if (limits.outputBytes !== undefined)
    throw new AppError("unsupported", "a process has no limit of output: its log keeps the newest bytes", {
      hint: "omit max_output_bytes",
    });
  return { ...rest, limits };
}
