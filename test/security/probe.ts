import type { CreateOptions } from "../../packages/server/src/app.ts";
import type { Containment, EngineName, SandboxLimits } from "../../packages/server/src/core/engine.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import type { Stage } from "./stage.ts";

export type Section = "Host files" | "Host kernel and runtime" | "Other sandboxes and the daemon" | "Exhaustion";

/** Where a probe is tried: a sandbox with a neighbour, on a host that holds what neither may reach. */
export interface Ground {
  engine: EngineName;
  sandbox: Sandbox;
  neighbour: Sandbox;
  stage: Stage;
  /** Names of what the neighbour holds, for the {placeholders} of a table. */
  values: Readonly<Record<string, string>>;
  /** Another sandbox on the same engine, with the probe program in it. */
  create: (options: CreateOptions) => Promise<Sandbox>;
}

/** What was achieved, in words; null where nothing was. */
export type Effect = string | null;

export interface Probe {
  section: Section;
  /** Completes "cannot …". */
  claim: string;
  attempt: (ground: Ground) => Promise<Effect>;
  twin: Twin;
  /** A sandbox of its own with these limits, for what would disturb the others. */
  own?: Partial<SandboxLimits>;
  /** Holds only where this is enforced; elsewhere the result says that it is not. */
  needs?: Containment;
  /** Why nobody but root could tell whether it held. */
  rootJudges?: string;
}

/** Why a probe says nothing here. */
export class NotApplicable extends Error {}

/** The same thing where it is allowed; the same judge must see it succeed there. */
export interface Twin {
  /** Completes "the probe to … works …". */
  where: string;
  /** In a sandbox, so once an engine; otherwise on the host, once. */
  inSandbox?: boolean;
  /** Works only where the root is a file system of this machine: not over layers, as in a container or a test root. */
  plainRoot?: boolean;
  attempt: (ground: Ground) => Promise<Effect>;
}
