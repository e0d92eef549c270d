import type { RuleDraft } from "./egress-policies.ts";
import type { SandboxFiles } from "./file.ts";
import type { LayerId, LayerInfo } from "./layer.ts";
import type { RunRequest, RunResult } from "./run.ts";

/** The layers of a data folder. */
export interface Layers {
  list(): Promise<LayerInfo[]>;
  /** Refused while a sandbox or another layer needs it. */
  remove(id: LayerId): Promise<void>;
}

/** A sandbox in which a tree grows. */
export interface Builder {
  readonly files: Pick<SandboxFiles, "write">;
  exec(request: RunRequest): Promise<RunResult>;
  /** Opens hosts to the builder until the result is disposed of. */
  reach(hosts: readonly RuleDraft[], how: { keepsFiles: boolean }): Promise<Disposable>;
}

/** Makes layers. The daemon itself unpacks nothing: strangers' archives meet sandboxes alone (S67). */
export interface LayerBuilder extends Layers {
  /**
   * Freezes what `grow` leaves in the workspace of a new sandbox, whose root is the machine's own or a layer. The sandbox
   * ends, whatever comes of it; one that a daemon leaves behind is removed by the next.
   */
  build(root: LayerId | null, grow: (builder: Builder) => Promise<void>): Promise<LayerInfo>;
}
