import { AppError } from "./errors.ts";

export const sandboxStates = ["creating", "running", "paused", "stopped", "failed", "destroyed"] as const;
export type SandboxState = (typeof sandboxStates)[number];

/** Names of transitions in events and in the audit log. */
export type TransitionName =
  | "sandbox.started"
  | "sandbox.paused"
  | "sandbox.resumed"
  | "sandbox.stopped"
  | "sandbox.failed"
  | "sandbox.destroyed";

/** Allowed transitions and their names (LIF-01). A failed sandbox has its workspace and can be started again. */
const transitions: Readonly<Record<SandboxState, Readonly<Partial<Record<SandboxState, TransitionName>>>>> = {
  creating: { running: "sandbox.started", failed: "sandbox.failed", destroyed: "sandbox.destroyed" },
  running: {
    paused: "sandbox.paused",
    stopped: "sandbox.stopped",
    failed: "sandbox.failed",
    destroyed: "sandbox.destroyed",
  },
  paused: {
    running: "sandbox.resumed",
    stopped: "sandbox.stopped",
    failed: "sandbox.failed",
    destroyed: "sandbox.destroyed",
  },
  stopped: { running: "sandbox.started", failed: "sandbox.failed", destroyed: "sandbox.destroyed" },
  failed: { running: "sandbox.started", stopped: "sandbox.stopped", destroyed: "sandbox.destroyed" },
  destroyed: {},
};

export function checkTransition(id: string, from: SandboxState, to: SandboxState): TransitionName {
  const name = transitions[from][to];
  if (name !== undefined) return name;
  throw new AppError("conflict", `sandbox ${id} is ${from}: it cannot become ${to}`);
}
