import { type Command, lineOrArgv, toCommand } from "../core/command.ts";
import { checkNames, type ResourceLimits, runLimitsOf } from "../core/resource-limits.ts";
import type { CodeRequest, RunIo, RunLimits, RunOptions, RunRequest } from "../core/run.ts";
import { defined } from "../lib/defined.ts";

const options = [
  ...["command", "language", "code", "cwd", "env", "stdin", "limits", "resource_limits", "terminal"],
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

/** A run as a user of the library asks for it, under one name for each option. An option that does not exist is refused. */
export function readRunRequest(given: RunRequest | CodeRequest): { command: Command; io: RunIo } {
  checkNames(given, options, "a run");
  const { id, cwd, env, terminal, onOutput, signal, trackFiles, allowedDomains = [], allowed_domains = [] } = given;
  const { stdin, input } = readInput(given.stdin);
  const command = toCommand({
    ...{ id, cwd, env, stdin, terminal, as: terminal === undefined ? "run" : "terminal" },
    what: "code" in given ? { code: given.code, language: given.language } : lineOrArgv(given.command),
    limits: readLimits(given, "a run"),
    domains: [...allowedDomains, ...allowed_domains],
  });
  return { command, io: defined({ onOutput, signal, trackFiles, input }) };
}

function readInput(given: RunOptions["stdin"]): Pick<Command, "stdin"> & Pick<RunIo, "input"> {
  if (given === undefined) return {};
  if (typeof given === "string") return { stdin: Buffer.from(given) };
  return given instanceof Uint8Array ? { stdin: given } : { stdin: "stream", input: given };
}
