import type { SandboxLimits } from "../core/engine.ts";
import { checkEnvironment } from "../core/environment.ts";
import { AppError } from "../core/errors.ts";
import { type Range, requestLimits } from "../core/limits.ts";
import { secretNamePattern } from "../core/secret.ts";
import type { ServerConfig } from "../core/server.ts";
import { checkRange, showBytes, showSeconds } from "../core/size.ts";
import { serverLimits } from "./limits.ts";

const usual: ServerConfig = {
  command: null,
  port: serverLimits.port.default,
  image: "mcp-runtime",
  env: {},
  secrets: [],
  network: {},
  limits: {},
  idleTimeoutMs: serverLimits.idleTimeoutMs.default,
};

const ranges = {
  memoryBytes: { range: serverLimits.memoryBytes, what: "memory", show: showBytes },
  cpus: { range: requestLimits.cpus, what: "cpus", show: String },
  cpuShares: { range: serverLimits.cpuShares, what: "cpu shares", show: String },
  storageBytes: { range: serverLimits.storageBytes, what: "storage", show: showBytes },
  processes: { range: serverLimits.processes, what: "processes", show: String },
} satisfies Record<keyof SandboxLimits, { range: Range; what: string; show: (value: number) => string }>;

/** Settings with these changes, or with the defaults for a new server. What is past a limit is refused, and named. */
export function readConfig(changes: Partial<ServerConfig>, before: ServerConfig = usual): ServerConfig {
  const config = { ...before, ...changes, limits: { ...before.limits, ...changes.limits } };
  checkCommand(config.command);
  checkRange(config.port, serverLimits.port, "port", String);
  checkRange(config.idleTimeoutMs, serverLimits.idleTimeoutMs, "idle timeout", showSeconds);
  checkEnv(config.env);
  checkSecrets(config.secrets);
  const domains = config.network.allow?.length ?? 0;
  if (domains > serverLimits.domains)
    throw new AppError("invalid", `too many domains: ${domains} (limit: ${serverLimits.domains})`, {
      hint: "one rule can cover all names below a domain: *.example.com",
    });
  return { ...config, limits: readLimits(config.limits) };
}

/** Each limit of a server, with the defaults of servers for those that it does not set. */
function readLimits(given: Partial<SandboxLimits>): SandboxLimits {
  const read = (name: keyof SandboxLimits) => {
    const { range, what, show } = ranges[name];
    return checkRange(given[name] ?? range.default, range, what, show);
  };
  return {
    memoryBytes: read("memoryBytes"),
    cpus: read("cpus"),
    cpuShares: read("cpuShares"),
    storageBytes: read("storageBytes"),
    processes: read("processes"),
  };
}

function checkCommand(command: readonly string[] | null): void {
  if (command === null) return;
  if (command.length === 0 || command[0] === "") throw new AppError("invalid", "the command is empty");
  if (command.length > serverLimits.commandWords)
    throw new AppError("invalid", `the command has more than ${serverLimits.commandWords} words`);
  if (command.some((word) => word.includes("\0"))) throw new AppError("invalid", "the command holds a NUL");
}

function checkEnv(env: Readonly<Record<string, string>>): void {
  const words = Object.entries(checkEnvironment(env)).flat();
  if (words.reduce((sum, word) => sum + Buffer.byteLength(word), 0) > serverLimits.envBytes)
    throw new AppError("too_large", `environment: more than ${serverLimits.envBytes} bytes`);
}

function checkSecrets(names: readonly string[]): void {
  if (names.length > serverLimits.secrets)
    throw new AppError("invalid", `too many secrets: ${names.length} (limit: ${serverLimits.secrets})`);
  if (new Set(names).size < names.length) throw new AppError("invalid", "a secret is named twice");
  const bad = names.find((name) => !secretNamePattern.test(name));
  if (bad !== undefined) throw new AppError("invalid", `invalid name of a secret: ${JSON.stringify(bad).slice(0, 80)}`);
}
