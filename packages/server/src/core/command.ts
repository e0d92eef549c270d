/** The one value that says what a caller wants to run in a sandbox: it is shown, judged, logged and run (S106). */

import { defined } from "../lib/defined.ts";
import { quote } from "../lib/quote.ts";
import type { ContextLanguage, ContextOptions } from "./context.ts";
import { checkEnvironment, type Environment } from "./environment.ts";
import { AppError } from "./errors.ts";
import type { Language } from "./language.ts";
import { contextLimits, type Range, requestLimits, sandboxLimits } from "./limits.ts";
import type { RunLimits } from "./run.ts";
import { newRunId } from "./run-id.ts";
import { checkRange, showBytes, showSeconds } from "./size.ts";
import { checkTerminal } from "./terminal.ts";
import type { TerminalSize } from "./wire.ts";

/** A context as it was made: code in it has this folder, these variables and these limits. */
export interface ContextUse {
  readonly id: string;
  readonly cwd?: string;
  readonly env?: Environment;
  readonly limits?: Readonly<Partial<RunLimits>>;
}

/** The context that a sandbox keeps for each language; made at its first use. */
export const sharedContext: ContextUse = { id: "shared" };

export type What =
  /** A program and its arguments. */
  | { readonly argv: readonly string[] }
  /** For /bin/bash, or /bin/sh where an image has none. */
  | { readonly line: string }
  /** Runs in the interpreter of a context, or in one of its own. */
  | { readonly code: string; readonly language: Language; readonly context?: ContextUse }
  /** A new code context. */
  | { readonly interpreter: ContextLanguage };

export interface Command {
  /** The run's id (run-id.ts). */
  readonly id: string;
  readonly what: What;
  /** A process outlives the call that starts it, and so does a context. Somebody types into a terminal. */
  readonly as: "run" | "process" | "terminal" | "context";
  /** Default: the sandbox's folder. */
  readonly cwd?: string;
  /** On top of the sandbox's. */
  readonly env?: Environment;
  /** The whole input, or a stream that is written to while it runs. */
  readonly stdin?: Uint8Array | "stream";
  /** A terminal in place of the three pipes. */
  readonly terminal?: TerminalSize;
  /** Those that the caller names. The others are the sandbox's. */
  readonly limits: Readonly<Partial<RunLimits>>;
  /** Names that the sandbox may reach while it runs. */
  readonly domains: readonly string[];
}

export type CommandDraft = Pick<Command, "what"> & { [N in Exclude<keyof Command, "what">]?: Command[N] | undefined };

/** A shell line, or a program with its arguments. */
export const lineOrArgv = (command: string | readonly string[]): What =>
  typeof command === "string" ? { line: command } : { argv: command };

/** Checks everything about a command that does not depend on its sandbox. */
export function toCommand({
  what,
  as = "run",
  id = newRunId(),
  limits = {},
  domains = [],
  ...rest
}: CommandDraft): Command {
  checkWhat(what);
  if (rest.env !== undefined) checkEnvironment(rest.env);
  checkRanges(as, limits);
  checkLimits(as, limits);
  if ("code" in what && what.context !== undefined) checkInContext({ ...rest, limits });
  const terminal = rest.terminal && checkTerminal(rest.terminal);
  return Object.freeze({ id, what, as, ...defined({ ...rest, terminal }), limits: defined(limits), domains });
}

type MadeContext = Omit<ContextOptions, "resource_limits">;

/** A new context. */
export function contextCommand({ language, cwd, env, limits }: MadeContext): Command {
  return toCommand({ what: { interpreter: language }, as: "context", cwd, env, limits });
}

export function contextOptionsOf({ what, cwd, env, limits }: Command): MadeContext {
  if (!("interpreter" in what)) throw new AppError("internal", "this command makes no context");
  return { language: what.interpreter, limits, ...defined({ cwd, env }) };
}

/** The same command for another run. */
export const runAgain = (command: Command): Command => Object.freeze({ ...command, id: newRunId() });

export type CommandKind = "command" | "code" | "process" | "terminal" | "context";

export function kindOf({ as, what }: Pick<Command, "as" | "what">): CommandKind {
  if (as !== "run") return as;
  return "code" in what ? "code" : "command";
}

/** The command as people write it. */
export function textOf({ what }: Pick<Command, "what">): string {
  if ("argv" in what) return what.argv.map(quote).join(" ");
  if ("line" in what) return what.line;
  return "code" in what ? what.code : what.interpreter;
}

function checkWhat(what: What): void {
  if ("interpreter" in what) return;
  if ("code" in what) return checkCode(what.code, what.context !== undefined);
  const words = "line" in what ? ["line", what.line] : what.argv;
  if (words.length === 0 || words[0] === "") throw new AppError("invalid", "the command is empty");
  if (words.length > sandboxLimits.arguments)
    throw new AppError("too_large", `more than ${sandboxLimits.arguments} arguments`);
  if (words.some((word) => word.includes("\0"))) throw new AppError("invalid", "the command holds a NUL");
}

/** Code for a new interpreter may become an argument, which cannot hold a NUL. */
function checkCode(code: string, inContext: boolean): void {
  const size = Buffer.byteLength(code);
  if (size > sandboxLimits.codeBytes)
    throw new AppError("too_large", `code of ${size} bytes is past ${sandboxLimits.codeBytes}`);
  if (!inContext && code.includes("\0")) throw new AppError("invalid", "the code holds a NUL");
}

function checkRanges(
  as: Command["as"],
  { timeoutMs, cpuTimeMs, processes, outputBytes, memoryBytes }: Partial<RunLimits>,
) {
  const isProcess = as === "process";
  const time = isProcess ? requestLimits.processTimeMs : requestLimits.timeoutMs;
  const cpuTime = isProcess ? requestLimits.processCpuTimeMs : requestLimits.cpuTimeMs;
  const isEndless = !isProcess && timeoutMs === 0;
  if (!isEndless) check(timeoutMs, time, "timeout", showSeconds);
  check(cpuTimeMs, cpuTime, "cpu time", showSeconds);
  check(processes, requestLimits.processes, "processes", String);
  check(outputBytes, requestLimits.outputBytes, "output", showBytes);
  check(memoryBytes, requestLimits.memoryBytes, "memory", showBytes);
}

/** Refuses limits that would hold nothing. */
function checkLimits(as: Command["as"], { timeoutMs, cpuTimeMs, outputBytes }: Partial<RunLimits>): void {
  if (as === "process" && outputBytes !== undefined)
    throw new AppError("unsupported", "a process has no limit of output: its log keeps the newest bytes", {
      hint: "omit max_output_bytes",
    });
  if (as === "context" && (timeoutMs ?? cpuTimeMs ?? outputBytes) !== undefined)
    throw new AppError("unsupported", "a context has no limit of time or output: its interpreter lives on", {
      hint: "set timeout_seconds, cpu_time_seconds and max_output_bytes of each run in it",
    });
}

type InContext = Pick<CommandDraft, "cwd" | "env" | "stdin"> & { limits: Partial<RunLimits> };

/** Refuses what only a new interpreter can have. */
function checkInContext({ cwd, env, stdin, limits: { memoryBytes, processes } }: InContext): void {
  const hint = "run the code as a process of its own (`stateful: false` in execute_code)";
  const refused = Object.entries({ cwd, env }).flatMap(([name, value]) => (value === undefined ? [] : name));
  if (refused.length > 0)
    throw new AppError("invalid", `unsupported options of a run in a context: ${refused.join(", ")}`, { hint });
  if (memoryBytes !== undefined || processes !== undefined)
    throw new AppError(
      "unsupported",
      "a run in a context has no limit of memory or processes: it shares an interpreter with the runs before it",
      { hint: `set max_ram_mb and max_processes when the context is created, or ${hint}` },
    );
  if (stdin !== undefined && stdin.length > contextLimits.stdinBytes)
    throw new AppError(
      "too_large",
      `standard input is too large: ${stdin.length} bytes (limit: ${contextLimits.stdinBytes})`,
    );
}

function check(value: number | undefined, range: Range, what: string, show: (value: number) => string): void {
  if (value !== undefined) checkRange(value, range, what, show);
}
