import type { EngineProbe } from "./engine.ts";

export type CheckState = "ok" | "warning" | "failed";

/** One thing about this machine, as `caisson doctor` tells it. */
export interface Check {
  name: string;
  state: CheckState;
  detail: string;
  hint?: string;
}

export interface Diagnosis {
  engines: EngineProbe[];
  /** Engine that `auto` would choose. */
  chosen: string | null;
  checks: Check[];
}
