import { type Command, type ContextUse, contextCommand, toCommand } from "../core/command.ts";
import type { ContextLanguage, ContextOptions, ContextRunOptions } from "../core/context.ts";
import { checkNames } from "../core/resource-limits.ts";
import type { ContextIo } from "./context-run.ts";
import { readLimits } from "./read-run-request.ts";

const contextNames = ["language", "cwd", "env", "limits", "resource_limits"];
const runNames = ["id", "limits", "resource_limits", "stdin", "onStdout", "onStderr", "signal"];

/** A context as a user of the library asks for it, under one name for each option. */
export function readContextOptions(given: ContextOptions): Command {
  checkNames(given, contextNames, "a context");
  return contextCommand({ ...given, limits: readLimits(given, "a context") });
}

/** Code for a context as a user of the library asks for it. */
export function readContextRun(
  code: string,
  where: { language: ContextLanguage; context: ContextUse },
  given: ContextRunOptions,
): { command: Command; io: ContextIo } {
  checkNames(given, runNames, "a run in a context");
  const { id, onStdout, onStderr, signal } = given;
  const stdin = typeof given.stdin === "string" ? Buffer.from(given.stdin) : given.stdin;
  const command = toCommand({ id, what: { code, ...where }, stdin, limits: readLimits(given, "a run in a context") });
  return { command, io: { listeners: { stdout: onStdout, stderr: onStderr }, ...(signal && { signal }) } };
}
