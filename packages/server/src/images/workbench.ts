import type { RuleDraft } from "../core/egress-policies.ts";
import type { SandboxFiles } from "../core/file.ts";
import type { LayerId, LayerInfo } from "../core/layer.ts";
import type { RunRequest, RunResult } from "../core/run.ts";

/** A sandbox in which a tree grows. */
export interface Builder {
  readonly id: string;
  readonly files: Pick<SandboxFiles, "write">;
  exec(request: RunRequest): Promise<RunResult>;
  /** What is in its workspace becomes a layer, and the sandbox is gone. */
  freeze(): Promise<LayerInfo>;
  destroy(): Promise<void>;
}

/** What images are made with. The daemon itself unpacks nothing: strangers' archives meet sandboxes alone (S67). */
export interface Workbench {
  /** With the machine's own root, or with a layer's. One that a daemon leaves behind is removed by the next. */
  open(root: LayerId | null): Promise<Builder>;
  /** Lets a builder reach hosts until it is disposed of. */
  reach(builderId: string, hosts: readonly RuleDraft[], how: { keepsFiles: boolean }): Promise<Disposable>;
  layers(): Promise<LayerInfo[]>;
  removeLayer(id: LayerId): Promise<void>;
}
