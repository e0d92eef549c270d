import type { Sandbox } from "./sandbox.ts";

/** Whether something of it goes on between calls. */
export function runsInBackground({ processes, contexts }: Sandbox): boolean {
  return (
    processes.list().some(({ state }) => state === "running") ||
    contexts.list().some(({ ended }) => ended === undefined)
  );
}
