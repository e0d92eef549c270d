import { randomBytes } from "node:crypto";
import { AppError } from "../core/errors.ts";
import { interpreters } from "../core/language.ts";
import { sandboxLimits } from "../core/limits.ts";
import type { CodeRequest, Run } from "../core/run.ts";
import type { Identified } from "../core/run-id.ts";
import { startRun } from "./run.ts";
import type { Sandbox } from "./sandbox.ts";

/** Runs a piece of code. It is an argument of its interpreter where it fits, else a hidden file of the workspace. */
export async function startCode(sandbox: Sandbox, request: Identified<CodeRequest>): Promise<Run> {
  const { language, code, ...options } = request;
  const { program, inline, extension } = interpreters[language];
  const size = Buffer.byteLength(code);
  if (size > sandboxLimits.codeBytes)
    throw new AppError("too_large", `code of ${size} bytes is past ${sandboxLimits.codeBytes}`);
  if (code.includes("\0")) throw new AppError("invalid", "the code holds a NUL");
  if (size <= sandboxLimits.argumentBytes) {
    const warm = sandbox.warm && language !== "shell" ? { warm: language } : {};
    return startRun(sandbox, { ...options, ...warm, command: [program, inline, code] });
  }
  const file = `.caisson-code-${randomBytes(6).toString("hex")}${extension}`;
  await sandbox.files.write(file, code);
  const remove = () => sandbox.files.remove(file).catch(ignoreGone);
  try {
    const run = await startRun(sandbox, { ...options, command: [program, `/workspace/${file}`] });
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
