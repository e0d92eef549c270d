import type { SandboxLimits } from "./engine.ts";
import { AppError } from "./errors.ts";
import { requestLimits } from "./limits.ts";
import { checkRange, showBytes } from "./size.ts";

export const engineChoices = ["auto", "gvisor", "container"] as const;
export type EngineChoice = (typeof engineChoices)[number];

/** Names of backends elsewhere, and the engine that does their work here. */
export const engineAliases: Readonly<Record<string, EngineChoice>> = { process: "container", docker: "container" };

export function parseEngineChoice(text: string): EngineChoice {
  const choice = engineChoices.find((known) => known === text) ?? engineAliases[text];
  if (choice === undefined)
    throw new AppError("invalid", `unknown engine '${text}'`, { hint: `engines: ${engineChoices.join(", ")}` });
  return choice;
}

/** Fills in the defaults of what was asked for, and refuses what is past a cap. */
export function resolveSandboxLimits(asked: Partial<SandboxLimits>): SandboxLimits {
  const { memoryBytes, cpus, cpuShares, processes, storageBytes } = requestLimits;
  return {
    memoryBytes: checkRange(asked.memoryBytes ?? memoryBytes.default, memoryBytes, "memory", showBytes),
    cpus: checkRange(asked.cpus ?? cpus.default, cpus, "cpus", String),
    cpuShares: checkRange(asked.cpuShares ?? cpuShares.default, cpuShares, "cpu shares", String),
    processes: checkRange(asked.processes ?? processes.default, processes, "processes", String),
    storageBytes: checkRange(asked.storageBytes ?? storageBytes.default, storageBytes, "storage", showBytes),
  };
}

export function hasLimits(left: SandboxLimits, right: SandboxLimits): boolean {
  return (Object.keys(left) as (keyof SandboxLimits)[]).every((name) => right[name] === left[name]);
}

/** Those of a sandbox that exists. Its workspace was made for its storage. */
export function changeLimits(id: string, limits: SandboxLimits, asked: Partial<SandboxLimits>): SandboxLimits {
  if (asked.storageBytes !== undefined && asked.storageBytes !== limits.storageBytes)
    throw new AppError("invalid", `cannot change the storage of sandbox ${id}`, {
      hint: `it was created with ${showBytes(limits.storageBytes)}; create another sandbox`,
    });
  return resolveSandboxLimits({ ...limits, ...asked });
}
