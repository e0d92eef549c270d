import type { z } from "zod";
import { AppError } from "../core/errors.ts";
import type { Language } from "../core/language.ts";
import type { ValidationPolicy } from "../core/validation.ts";
import { type finding, toFinding } from "../schemas/validation.ts";
import { checkPolicy } from "../validation/policy.ts";
import type { ToolCall } from "./tool.ts";
import { validationOf } from "./validation-of.ts";

/** Under policy `strict`, refuses code before it runs. */
export async function admitCode(
  call: ToolCall,
  language: Language,
  code: string,
  policy: ValidationPolicy,
): Promise<void> {
  if (policy !== "strict") return;
  checkPolicy(await validationOf(call).code({ language, code, policy, autoFix: false }, call.signal));
}

interface Ended {
  exit_code: number;
  signal: string | null;
  timed_out: boolean;
}

/**
 * What a reader of code that failed by itself would have said. Code that did what it should needs no advice, and does not wait
 * for any. Names are left out where earlier calls may have bound them.
 */
export async function adviseOn(
  call: ToolCall,
  language: Language,
  code: string,
  ended: Ended & { state?: unknown },
): Promise<{ findings?: z.input<typeof finding>[] }> {
  if (ended.exit_code === 0 || ended.signal !== null || ended.timed_out) return {};
  const { signal } = call;
  const read = validationOf(call).code({ language, code, policy: "advise", autoFix: false }, signal);
  const told = await read.catch((error: unknown) => {
    // The run itself has an answer, whatever may be said about it.
    if (error instanceof AppError || signal.aborted) return undefined;
    throw error;
  });
  const isOfNames = (rule: string) => rule === "undefined-name" || rule === "missing-import";
  const kept = told?.findings.filter(({ rule }) => ended.state === undefined || !isOfNames(rule)) ?? [];
  return kept.length === 0 ? {} : { findings: kept.map(toFinding) };
}
