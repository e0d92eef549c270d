import type { ContextRunResult, StatefulResult } from "../core/context.ts";
import { contextExit } from "./context-exit.ts";
import type { Sandbox } from "./sandbox.ts";

/** Runs code in a context with files_changed and the fields of other runs. */
export async function statefulResult(
  sandbox: Sandbox,
  isNew: boolean,
  run: () => Promise<ContextRunResult>,
): Promise<StatefulResult> {
  await sandbox.beginRun(true);
  const done = await run().catch(async (error: unknown) => {
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
