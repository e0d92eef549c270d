import type { CreateOptions } from "../core/app-options.ts";
import type { SandboxLimits, StartOptions } from "../core/engine.ts";
import { AppError } from "../core/errors.ts";
import { parseEngineChoice } from "../core/request.ts";
import { checkNames, type ResourceLimits, sandboxLimitsOf } from "../core/resource-limits.ts";
import { parseSize } from "../core/size.ts";
import { defined } from "../lib/defined.ts";
import { settingNames } from "./settings.ts";

/** Other names of options of a sandbox, as factories elsewhere have them. */
export interface OtherNames {
  /** An engine's name, or `process` or `docker`. */
  backend?: string;
  resource_limits?: ResourceLimits;
  /** A number with its unit: `256m`. */
  memory_limit?: string;
  /** Microseconds of CPU time in each period: half of the period is half a core. */
  cpu_quota?: number;
  cpu_period?: number;
  /** `none`, which holds anyway. */
  network_mode?: string;
  /** As `network.allow`. */
  allowed_domains?: readonly string[];
}

const openNames = ["home", "root", "configFile", "environment", "settings", "redact"];
const sandboxNames = [
  ...["engine", "limits", "inputFolder", "output", "warm", "listeners", "network", "keep", "namespace"],
  ...["backend", "resource_limits", "memory_limit", "cpu_quota", "cpu_period", "network_mode", "allowed_domains"],
];
/** Options for callers inside the product. */
const ownNames = ["root", "base", "folder", "outputFolder", "fleet", "alone", "afterLeave"];
const attachNames = ["network", "namespace", "root", "hide"];
const startNames = ["limits", "warm", "listeners", "network", "namespace", "root"];
const limitNames = ["memoryBytes", "cpus", "cpuShares", "processes", "storageBytes"];
const usualPeriod = 100_000;

export function checkOpenOptions(given: object): void {
  checkSettings(given);
  checkNames(given, openNames, "openCaisson");
}

export function checkAttachOptions(given: object): void {
  checkNames(given, attachNames, "attachSandbox");
}

export function checkStartOptions(given: StartOptions): void {
  checkNames(given, startNames, "startSandbox");
  if (given.limits !== undefined) checkNames(given.limits, limitNames, "limits of a sandbox");
}

/** The options of a sandbox, under one name each. An option that does not exist is refused. */
export function readSandboxOptions(given: CreateOptions & OtherNames): CreateOptions {
  checkSettings(given);
  checkNames(given, [...sandboxNames, ...ownNames], "a sandbox");
  if (given.limits !== undefined) checkNames(given.limits, limitNames, "limits of a sandbox");
  const { backend, resource_limits, memory_limit, cpu_quota, cpu_period, network_mode, allowed_domains, ...rest } =
    given;
  if (network_mode !== undefined && network_mode !== "none")
    throw new AppError("unsupported", `network_mode: '${network_mode}' is not none`, {
      hint: "a sandbox can only use the network by rules: network: { allow: [...] }",
    });
  const limits: Partial<SandboxLimits> = {
    ...defined(sandboxLimitsOf(resource_limits ?? {})),
    ...defined({ memoryBytes: memory_limit === undefined ? undefined : bytesOf(memory_limit) }),
    ...coresOf(cpu_quota, cpu_period),
    ...given.limits,
  };
  return {
    ...rest,
    ...(backend === undefined ? {} : { engine: parseEngineChoice(backend) }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(allowed_domains && {
      network: { ...given.network, allow: [...(given.network?.allow ?? []), ...allowed_domains] },
    }),
  };
}

/** Settings go together in one option. */
function checkSettings(given: object): void {
  const name = Object.keys(given).find((key) => key !== "allowed_domains" && settingNames.some((one) => one === key));
  if (name !== undefined && name !== "engine")
    throw new AppError("invalid", `'${name}' is a setting`, { hint: `settings: { ${name}: … }` });
}

/** A number alone means bytes in one place and MB in another, so a unit is needed. */
function bytesOf(text: string): number {
  if (!/^\d+(\.\d+)?[kmg]$/i.test(text))
    throw new AppError("invalid", `memory_limit: '${text}' is not a size`, { hint: "a number and k, m or g: 256m" });
  return parseSize(text, "memory_limit");
}

function coresOf(quota: number | undefined, period = usualPeriod): Pick<SandboxLimits, "cpus"> | object {
  if (quota === undefined) return {};
  if (!(quota > 0 && period > 0))
    throw new AppError("invalid", "cpu_quota and cpu_period must be microseconds above 0");
  return { cpus: quota / period };
}
