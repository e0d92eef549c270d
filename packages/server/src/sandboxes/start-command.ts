import { randomBytes } from "node:crypto";
import type { Command } from "../core/command.ts";
import { AppError } from "../core/errors.ts";
import { interpreters } from "../core/language.ts";
import type { Run, RunIo } from "../core/run.ts";
import { startRun } from "./run.ts";
import type { Sandbox } from "./sandbox.ts";
import { needsFile } from "./spec.ts";

/** Starts a command. Code is an argument of its interpreter where it fits, else a hidden file of the workspace. */
export async function startCommand(sandbox: Sandbox, command: Command, io: RunIo): Promise<Run> {
  const { what } = command;
  if (!("code" in what) || !needsFile(command)) return startRun(sandbox, command, io);
  const file = `.caisson-code-${randomBytes(6).toString("hex")}${interpreters[what.language].extension}`;
  await sandbox.files.write(file, what.code);
  const remove = () => sandbox.files.remove(file).catch(ignoreGone);
  try {
    const run = await startRun(sandbox, command, io, file);
    const result = run.result
      .then((done) => ({ ...done, files_changed: done.files_changed.filter((change) => change.path !== file) }))
      .finally(remove);
    result.catch(() => undefined); // whoever awaits it gets the error; nobody must
    return { ...run, result };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** The code may have removed its own file, or the sandbox may be gone with it. */
function ignoreGone(error: unknown): void {
  if (!(error instanceof AppError) || (error.code !== "not_found" && error.code !== "unavailable")) throw error;
}
