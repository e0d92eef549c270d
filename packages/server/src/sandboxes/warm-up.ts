import type { Command } from "../core/command.ts";
import { AppError } from "../core/errors.ts";
import { templateLimits } from "../core/template-limits.ts";
import type { Sandbox } from "./sandbox.ts";

/** Leaves what it makes in the shared context of its language, or in files. One that fails says so with its own words. */
export async function runWarmUp(sandbox: Sandbox, command: Command, signal?: AbortSignal): Promise<void> {
  const said = await ("line" in command.what ? runLine(sandbox, command, signal) : runCode(sandbox, command, signal));
  if (said === null) return;
  throw new AppError("conflict", `the warm-up failed: ${said.trim().slice(-templateLimits.errorCharacters)}`);
}

async function runLine(sandbox: Sandbox, command: Command, signal?: AbortSignal): Promise<string | null> {
  const io = { trackFiles: false, ...(signal && { signal }) };
  const { exit_code, timed_out, stdout, stderr } = await sandbox.command(command).run(io);
  if (timed_out) return "it took too long";
  return exit_code === 0 ? null : `exit code ${exit_code}\n${stdout}${stderr}`;
}

async function runCode(sandbox: Sandbox, command: Command, signal?: AbortSignal): Promise<string | null> {
  const io = signal === undefined ? {} : { signal };
  const { error, timed_out, cpu_limit, ended } = await sandbox.command(command).runInContext(io);
  if (error !== undefined) return `${error.name}: ${error.message}`;
  if (timed_out || cpu_limit) return "it took too long";
  return ended === undefined ? null : ended.reason;
}
