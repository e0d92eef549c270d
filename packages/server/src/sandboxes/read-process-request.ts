import { type Command, lineOrArgv, toCommand } from "../core/command.ts";
import type { ProcessRequest } from "../core/process.ts";
import { checkNames } from "../core/resource-limits.ts";
import { readLimits } from "./read-run-request.ts";

const names = ["runId", "command", "cwd", "env", "stdin", "terminal", "limits", "resource_limits"];

/** A process in the background as a user of the library asks for it, under one name for each option. */
export function readProcessRequest(given: ProcessRequest): Command {
  checkNames(given, names, "a process");
  const { runId: id, command, cwd, env, terminal } = given;
  const stdin = given.stdin === true ? "stream" : undefined;
  const limits = readLimits(given, "a process");
  return toCommand({ id, what: lineOrArgv(command), as: "process", cwd, env, stdin, terminal, limits });
}
