import { defined } from "../core/defined.ts";
import { checkNames, type ResourceLimits, runLimitsOf } from "../core/resource-limits.ts";
import type { RunLimits, RunOptions } from "../core/run.ts";

const options = [
  ...["command", "language", "code", "warm", "cwd", "env", "stdin", "limits", "resource_limits", "terminal"],
  ...["id", "allowedDomains", "allowed_domains", "onOutput", "signal", "trackFiles"],
];
const limitNames = ["timeoutMs", "cpuTimeMs", "processes", "outputBytes", "memoryBytes", "cpus"];

interface Limited {
  limits?: Partial<RunLimits>;
  resource_limits?: ResourceLimits;
}

/** Limits under one name each. */
export function readLimits({ limits = {}, resource_limits = {} }: Limited, what: string): Partial<RunLimits> {
  checkNames(limits, limitNames, `limits of ${what}`);
  return { ...defined(runLimitsOf(resource_limits)), ...limits };
}

/** A run as its caller asked for it, under one name for each option. An option that does not exist is refused. */
export function readRunRequest<R extends RunOptions>(given: R): R {
  checkNames(given, options, "a run");
  const limits = readLimits(given, "a run");
  const { allowed_domains, resource_limits, ...rest } = given;
  if (allowed_domains === undefined && resource_limits === undefined) return given;
  return {
    ...(rest as R),
    ...(allowed_domains && { allowedDomains: [...(given.allowedDomains ?? []), ...allowed_domains] }),
    limits,
  };
}
