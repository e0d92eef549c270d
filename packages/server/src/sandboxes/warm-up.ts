import type { ContextLanguage } from "../core/context.ts";
import { AppError } from "../core/errors.ts";
import type { WarmUp } from "../core/template.ts";
import { templateLimits } from "../core/template-limits.ts";
import type { Sandbox } from "./sandbox.ts";

interface Options {
  signal?: AbortSignal;
}

const { warmUpMs: timeoutMs, errorCharacters } = templateLimits;

/** Leaves what it makes in the context that everybody shares, or in files. One that fails says so with its own words. */
export async function runWarmUp(sandbox: Sandbox, { language, code }: WarmUp, signal?: AbortSignal): Promise<void> {
  const options = signal === undefined ? {} : { signal };
  const said = await (language === "shell"
    ? runLine(sandbox, code, options)
    : runCode(sandbox, language, code, options));
  if (said !== null) throw new AppError("conflict", `the warm-up failed: ${said.trim().slice(-errorCharacters)}`);
}

async function runLine(sandbox: Sandbox, command: string, options: Options): Promise<string | null> {
  const limits = { timeoutMs, cpuTimeMs: timeoutMs };
  const { exit_code, timed_out, stdout, stderr } = await sandbox.exec({
    ...options,
    ...{ command, limits, trackFiles: false },
  });
  if (timed_out) return "it took too long";
  return exit_code === 0 ? null : `exit code ${exit_code}\n${stdout}${stderr}`;
}

async function runCode(
  sandbox: Sandbox,
  language: ContextLanguage,
  code: string,
  options: Options,
): Promise<string | null> {
  const { context } = await sandbox.contexts.shared(language);
  const { error, timed_out, cpu_limit, ended } = await context.run(code, {
    ...options,
    limits: { timeoutMs, cpuTimeMs: timeoutMs },
  });
  if (error !== undefined) return `${error.name}: ${error.message}`;
  if (timed_out || cpu_limit) return "it took too long";
  return ended === undefined ? null : ended.reason;
}
