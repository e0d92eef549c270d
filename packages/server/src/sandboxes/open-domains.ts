import type { Run, RunOptions } from "../core/run.ts";
import type { SandboxParts } from "./sandbox-parts.ts";

/** Starts a run with the way out that it asks for, which closes with it. */
export async function withDomains(
  openRun: SandboxParts["openRun"],
  sandboxId: string,
  { allowedDomains = [] }: RunOptions,
  start: () => Promise<Run>,
): Promise<Run> {
  if (allowedDomains.length === 0) return start();
  using opening = new DisposableStack();
  opening.use(await openRun(sandboxId, allowedDomains));
  const run = await start();
  const open = opening.move();
  const result = run.result.finally(() => open.dispose());
  result.catch(() => undefined); // whoever awaits it gets the error; nobody must
  return { ...run, result };
}
