import type { Run, RunOptions } from "../core/run.ts";
import { readRunRequest } from "./read-run-request.ts";
import type { SandboxParts } from "./sandbox-parts.ts";

/** Starts a run with the way out that it asks for, which closes with it. */
export async function withDomains<R extends RunOptions>(
  openRun: SandboxParts["openRun"],
  sandboxId: string,
  given: R,
  start: (request: R) => Promise<Run>,
): Promise<Run> {
  const request = readRunRequest(given);
  const { allowedDomains = [] } = request;
  if (allowedDomains.length === 0) return start(request);
  using opening = new DisposableStack();
  opening.use(await openRun(sandboxId, allowedDomains));
  const run = await start(request);
  const open = opening.move();
  const result = run.result.finally(() => open.dispose());
  result.catch(() => undefined); // whoever awaits it gets the error; nobody must
  return { ...run, result };
}
