import { AppError } from "./errors.ts";

export const sandboxStates = ["creating", "running", "paused", "stopped", "failed", "destroyed"] as const;
export type SandboxState = (typeof sandboxStates)[number];

/** What may follow what (LIF-01). A failed sandbox has its workspace and can be started again. */
export const transitions: Readonly<Record<SandboxState, readonly SandboxState[]>> = {
  creating: ["running", "failed", "destroyed"],
  running: ["paused", "stopped", "failed", "destroyed"],
  paused: ["running", "stopped", "failed", "destroyed"],
  stopped: ["running", "failed", "destroyed"],
  failed: ["running", "stopped", "destroyed"],
  destroyed: [],
};

export function checkTransition(id: string, from: SandboxState, to: SandboxState): void {
  if (transitions[from].includes(to)) return;
  throw new AppError("conflict", `sandbox ${id} is ${from}: it cannot become ${to}`);
}
