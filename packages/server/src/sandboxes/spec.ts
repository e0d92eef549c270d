import type { Command } from "../core/command.ts";
import type { ContextLanguage } from "../core/context.ts";
import { AppError } from "../core/errors.ts";
import { interpreters } from "../core/language.ts";
import { sandboxLimits } from "../core/limits.ts";
import type { RunLimits } from "../core/run.ts";
import type { StreamSpec } from "../core/wire.ts";
import { type LimitingSandbox, limitsOf } from "./command-limits.ts";
import type { Sandbox } from "./sandbox.ts";

/** Node cannot move descriptors: the shell leaves the requests at 3 and the two streams at 4 and 5. */
const kernels: Record<ContextLanguage, readonly string[]> = {
  python: ["python3", "/.caisson/kernels/python.py"],
  node: ["/bin/sh", "-c", "exec 3<&0 0</dev/null 4>&1 5>&2; exec node /.caisson/kernels/node.mjs"],
};

export type SpecSandbox = LimitingSandbox &
  Pick<Sandbox, "environment" | "folder" | "processSlack" | "runsWatchMemory" | "warm">;

/** What the guest starts for a command: it follows from the command and its sandbox, and from nothing else (S106). */
export function toSpec(sandbox: SpecSandbox, command: Command, codeFile?: string): StreamSpec {
  const { what, cwd, env, terminal, as } = command;
  const limits = limitsOf(sandbox, command);
  const argv = argvOf(command, codeFile);
  const variables = { ...sandbox.environment, ...env };
  checkWords(argv, variables);
  const isWarm = "code" in what && what.language !== "shell" && codeFile === undefined && sandbox.warm;
  return {
    arguments: argv,
    environment: variables,
    folder: cwd ?? sandbox.folder,
    timeoutMs: limits.timeoutMs,
    cpuMs: limits.cpuTimeMs,
    processes: Math.max(1, limits.processes - sandbox.processSlack),
    openFiles: sandboxLimits.openFiles,
    ...memoryLimit(sandbox, as, limits),
    stdin: as === "context" || command.stdin !== undefined,
    shell: "line" in what,
    ...(isWarm && { warm: what.language as ContextLanguage }),
    ...(terminal && { terminal }),
  };
}

/** Code that is too long for an argument has a file of its own. */
export function needsFile({ what }: Command): boolean {
  return "code" in what && Buffer.byteLength(what.code) > sandboxLimits.argumentBytes;
}

function argvOf({ what }: Command, codeFile: string | undefined): readonly string[] {
  if ("argv" in what) return what.argv;
  if ("line" in what) return ["/bin/bash", "-c", what.line];
  if ("interpreter" in what) return kernels[what.interpreter];
  const { program, inline } = interpreters[what.language];
  return codeFile === undefined ? [program, inline, what.code] : [program, `/workspace/${codeFile}`];
}

/** Refuses what Linux would not start: it counts a pointer for each word, and the paths of the program and its interpreter. */
function checkWords(argv: readonly string[], variables: Readonly<Record<string, string>>): void {
  const { wordBytes, wordsBytes, pathBytes } = sandboxLimits;
  const hint = "send much data as standard input, or write it to a file";
  let all = 2 * pathBytes;
  for (const word of [...argv, ...Object.entries(variables).map(([name, value]) => `${name}=${value}`)]) {
    const bytes = Buffer.byteLength(word) + 1;
    if (bytes > wordBytes)
      throw new AppError("too_large", `an argument or variable has ${bytes} bytes; Linux takes ${wordBytes}`, { hint });
    all += bytes + 8;
  }
  if (all > wordsBytes)
    throw new AppError("too_large", `arguments and environment have ${all} bytes; Linux takes ${wordsBytes}`, { hint });
}

/** The command's own limit, and the sandbox's where nothing else holds it. A context has its own alone. */
function memoryLimit(sandbox: SpecSandbox, as: Command["as"], { memoryBytes }: RunLimits): { memoryBytes?: number } {
  const watched = as !== "context" && sandbox.runsWatchMemory ? sandbox.limits.memoryBytes : undefined;
  const least = Math.min(memoryBytes ?? Number.POSITIVE_INFINITY, watched ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(least) ? { memoryBytes: least } : {};
}
