import type { LayerId } from "../core/layer.ts";
import type { Sandbox } from "./sandbox.ts";
import { workerOutput } from "./worker-output.ts";

/** The files of a sandbox at one moment, for others to lie on. */
export interface LentFiles {
  layerId: LayerId;
  /** All that were to lie on them do: they go with the last of these. */
  release(): Promise<void>;
}

/** Whether a stop would take something from its user: what runs in it, or what lies in its memory alone. */
export async function isBusy(sandbox: Sandbox): Promise<boolean> {
  const { processes, contexts, wire, runsUnderWay } = sandbox;
  if (runsUnderWay > 0 || processes.list().some(({ state }) => state === "running")) return true;
  if (contexts.list().some(({ ended }) => ended === undefined)) return true;
  for await (const _ of workerOutput(wire, "busy", { path: "." })) return true;
  return false;
}
