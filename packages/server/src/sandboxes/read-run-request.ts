import { defined } from "../core/defined.ts";
import { checkNames, runLimitsOf } from "../core/resource-limits.ts";
import type { RunOptions } from "../core/run.ts";

const options = [
  ...["command", "language", "code", "warm", "cwd", "env", "stdin", "limits", "resource_limits", "terminal"],
  ...["allowedDomains", "allowed_domains", "onOutput", "signal", "trackFiles"],
];
const limits = ["timeoutMs", "cpuTimeMs", "processes", "outputBytes", "memoryBytes", "cpus"];

/** A run as its caller asked for it, under one name for each option. An option that does not exist is refused. */
export function readRunRequest<R extends RunOptions>(given: R): R {
  checkNames(given, options, "a run");
  if (given.limits !== undefined) checkNames(given.limits, limits, "limits of a run");
  const { allowed_domains, resource_limits, ...rest } = given;
  if (allowed_domains === undefined && resource_limits === undefined) return given;
  return {
    ...(rest as R),
    ...(allowed_domains && { allowedDomains: [...(given.allowedDomains ?? []), ...allowed_domains] }),
    ...(resource_limits && { limits: { ...defined(runLimitsOf(resource_limits)), ...given.limits } }),
  };
}
