import type { NetworkOptions, PolicyDraft } from "./egress-policies.ts";
import type { EngineName, SandboxLimits, WarmChoice } from "./engine.ts";
import type { EngineSource } from "./engine-source.ts";
import type { LayerId } from "./layer.ts";
import type { BackgroundPolicy } from "./process.ts";
import type { EngineChoice } from "./request.ts";
import type { RunLimits } from "./run.ts";
import type { RecordOptions } from "./run-record.ts";

export interface CaissonOptions {
  /** The data folder. */
  home: string;
  /** The checkout or installation, whose .build holds the compiled programs. */
  root: string;
  /** Another guest than the one built here. */
  guestPath?: string;
  /** Runtimes that do not lie where system programs do. */
  runtimePaths?: Partial<Record<EngineName, string>>;
  /** Engines of another process; of this one unless given. Closes with the Caisson. */
  engines?: EngineSource;
  /** For sandboxes and runs that ask for nothing else. */
  engine?: EngineChoice;
  limits?: Partial<SandboxLimits>;
  runLimits?: Partial<RunLimits>;
  listeners?: boolean;
  background?: BackgroundPolicy;
  /** Network policy of every sandbox. Default: no access. */
  network?: NetworkOptions;
  /** Without it no run is recorded. */
  records?: RecordOptions;
  /** Told whenever the start of a sandbox is in the runtime's hands, and this process has time. */
  onLaunch?: () => void;
  /** Told of what went wrong beside a call's own result; a warning of the process unless given. */
  onError?: (error: unknown) => void;
}

interface Reachable {
  /** Network policy of this sandbox, on top of that; it holds while this process has the sandbox. */
  network?: PolicyDraft;
}

export interface Rooted {
  /** The layer that is its root, where that is not the machine's own: its image says what runs find. */
  root?: LayerId;
}

export interface AttachOptions extends Reachable, Rooted {
  /** Namespace for the library's events and `vault_add`. Default: `default`. */
  namespace?: string;
  /** Values that nothing of it shows. */
  hide?: readonly Buffer[];
}

export interface ForkOptions extends Rooted {
  /** How many; one unless told. */
  count?: number;
  /** How many of them are made at the same time. */
  atOnce?: number;
}

export interface CreateOptions extends Reachable {
  /** Namespace for the library's events and `vault_add`. Default: `default`. */
  namespace?: string;
  engine?: EngineChoice;
  /** A layer whose tree is the root, in place of the machine's own. */
  root?: LayerId;
  /** A layer whose files it begins with. */
  base?: LayerId;
  limits?: Partial<SandboxLimits>;
  inputFolder?: string;
  /** The same by the id that the configuration of an engine in another process gives it. */
  folder?: string;
  /** Likewise of a folder that its output is to be copied to. */
  outputFolder?: string;
  /** When interpreters start that wait for code; after the first code of their language unless told. Never with little memory. */
  warm?: WarmChoice;
  /** True when code may open listeners inside (EXE-13). A refusal in the configuration takes precedence. */
  listeners?: boolean;
  /** Called, and waited for, once the sandbox is destroyed or detached. */
  afterLeave?: () => Promise<void>;
  /** True when it outlives this process: it then ends only when it is destroyed. */
  keep?: boolean;
  /** True when it belongs to a daemon. */
  fleet?: boolean;
  /** True when the network policy of all sandboxes does not apply to it. */
  alone?: boolean;
}
