import type { ContextLanguage, ContextRunOptions, ContextRunResult } from "../core/context.ts";
import { AppError } from "../core/errors.ts";
import type { RunResult } from "../core/run.ts";
import { contextExit } from "../sandboxes/context-exit.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";

/** A run whose variables live on. What it used cannot be told apart from what its interpreter uses. */
export interface StatefulResult
  extends Omit<RunResult, "cpu_ms" | "max_rss">,
    Pick<ContextRunResult, "results" | "error"> {
  /** Whether variables of earlier calls were there. */
  state: "new" | "kept";
}

interface Asked extends ContextRunOptions {
  /** What only a new process can have. */
  ofProcess: Readonly<Record<string, unknown>>;
}

/** Runs code in the interpreter that a sandbox keeps for a language. */
export async function runInContext(
  sandbox: Sandbox,
  language: ContextLanguage,
  code: string,
  { ofProcess, ...options }: Asked,
): Promise<StatefulResult> {
  const refused = Object.keys(ofProcess).filter((name) => ofProcess[name] !== undefined);
  if (refused.length > 0)
    throw new AppError("invalid", `a kept interpreter takes no ${refused.join(", ")}`, {
      hint: "set stateful to false: that runs the code in a process of its own, without the session's variables",
    });
  const { context, isNew } = await sandbox.contexts.shared(language);
  await sandbox.beginRun(true);
  const done = await context.run(code, options).catch(async (error: unknown) => {
    await sandbox.endRun(false);
    throw error;
  });
  const found = await sandbox.endRun(true);
  const { ended: _, ...rest } = done;
  return {
    ...rest,
    ...contextExit(done),
    warm: !isNew,
    files_changed: sandbox.redactor.value(found.changes),
    files_changed_truncated: found.truncated,
    engine: sandbox.engine,
    enforced: sandbox.enforced,
    not_enforced: sandbox.notEnforced,
    state: isNew ? "new" : "kept",
  };
}
