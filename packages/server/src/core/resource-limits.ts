import { nearMiss } from "../lib/near-miss.ts";
import type { SandboxLimits } from "./engine.ts";
import { AppError } from "./errors.ts";
import type { RunLimits } from "./run.ts";

const MiB = 1024 ** 2;

/** Limits by the names of settings. */
export interface ResourceLimits {
  max_ram_mb?: number;
  max_cpu_cores?: number;
  timeout_seconds?: number;
  max_processes?: number;
  max_output_bytes?: number;
}

const names = ["max_ram_mb", "max_cpu_cores", "timeout_seconds", "max_processes", "max_output_bytes"];

/** Refuses a name that nothing would obey. */
export function checkNames(given: object, known: readonly string[], what: string): void {
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const meant = nearMiss(name, known);
    throw new AppError("invalid", `${what} has no option '${name.slice(0, 64)}'`, {
      hint: meant === undefined ? `options: ${known.join(", ")}` : `did you mean ${meant}?`,
    });
  }
}

/** One of two names of the same limit. */
export function either<T>(one: T | undefined, other: T | undefined, called: string): T | undefined {
  if (one !== undefined && other !== undefined)
    throw new AppError("invalid", `${called} are the same limit: set only one`);
  return one ?? other;
}

const scaled = (value: number | undefined, by: number) => (value === undefined ? undefined : Math.round(value * by));

/** Those of one run. */
export function runLimitsOf(given: ResourceLimits): { [N in keyof RunLimits]?: RunLimits[N] | undefined } {
  checkNames(given, names, "resource_limits");
  return {
    memoryBytes: scaled(given.max_ram_mb, MiB),
    cpus: given.max_cpu_cores,
    timeoutMs: scaled(given.timeout_seconds, 1000),
    processes: given.max_processes,
    outputBytes: given.max_output_bytes,
  };
}

/** Those of a sandbox. Time and output are limits of its runs. */
export function sandboxLimitsOf(given: ResourceLimits): { [N in keyof SandboxLimits]?: SandboxLimits[N] | undefined } {
  checkNames(given, names, "resource_limits");
  return {
    memoryBytes: scaled(given.max_ram_mb, MiB),
    cpus: given.max_cpu_cores,
    processes: given.max_processes,
  };
}
