import type { Script, ScriptOptions, StepProgress } from "./build-script.ts";
import type { RuleDraft } from "./egress-policies.ts";
import type { SandboxLimits } from "./engine.ts";
import type { SandboxFiles } from "./file.ts";
import type { LayerId, LayerInfo } from "./layer.ts";

/** The layers of a data folder. */
export interface Layers {
  list(): Promise<LayerInfo[]>;
  /** Refused while a sandbox or another layer needs it. */
  remove(id: LayerId): Promise<void>;
}

/** A sandbox in which a tree grows. */
export interface Builder {
  readonly files: Pick<SandboxFiles, "list" | "read" | "stat" | "unpack" | "write">;
  /** Runs one step; rejects with a StepFailure that has the end of its output. */
  run(script: Script, progress: StepProgress, options?: ScriptOptions): Promise<void>;
  /** Opens hosts to the builder until the result is disposed of. */
  reach(hosts: readonly RuleDraft[], how: RegistryReach): Promise<Disposable>;
}

/** How registries are opened to a sandbox. */
export interface RegistryReach {
  /** Files are kept for all sandboxes. */
  keepsFiles: boolean;
  /** Only GET and HEAD pass: TLS is inspected for it. Default: false. */
  readsOnly?: boolean;
  /** Called for each file that came whole, where the daemon reads what passes. */
  delivered?: (file: DeliveredFile) => void;
}

/** A file as a registry sent it to a sandbox. */
export interface DeliveredFile {
  url: string;
  sha256: string;
}

/** Root of a builder, and limits of what is made in it. */
export interface LayerGround {
  /** Root of the builder; null: the machine's own. */
  root: LayerId | null;
  /**
   * True: the workspace begins with the files of the root, and the new layer lies over the root's. Where the machine cannot
   * do that the layer holds a copy of the root's files.
   */
  over?: boolean;
  limits?: Partial<SandboxLimits>;
}

/** Makes layers. The daemon itself unpacks nothing: strangers' archives meet sandboxes alone (S67). */
export interface LayerBuilder extends Layers {
  /**
   * Freezes what `grow` leaves in the workspace of a new sandbox. The sandbox ends, whatever comes of it; one that a daemon
   * leaves behind is removed by the next.
   */
  build(ground: LayerGround, grow: (builder: Builder) => Promise<void>): Promise<LayerInfo>;
}
