import type { Batch } from "./batch.ts";
import type { EngineName, SandboxLimits } from "./engine.ts";
import type { LayerId } from "./layer.ts";
import type { SandboxState } from "./lifecycle.ts";
import type { TemplateOrigin } from "./template.ts";

/** A sandbox as the daemon's store knows it; it outlives the process that made it. */
export interface SandboxRecord {
  id: string;
  namespace: string;
  status: SandboxState;
  engine: EngineName;
  image: string;
  /** Layer of its image; null: the machine's own root. */
  layerId: LayerId | null;
  sessionKey: string | null;
  limits: SandboxLimits;
  env: Readonly<Record<string, string>>;
  labels: Readonly<Record<string, string>>;
  /** Free text for people and agents; empty: none. */
  description: string;
  createdAtMs: number;
  /** The last use ended then; a sandbox in use is not idle. Paused time does not count. */
  lastUsedAtMs: number;
  idleTimeoutMs: number;
  /** When it is destroyed, whatever it does. */
  expiresAtMs: number;
  pausedAtMs: number | null;
  /** From the pool, or why it was started for this request. */
  origin: string;
  /** Why it failed. */
  failure: string | null;
  createdBy: string;
  /** The id of the folder that its output is copied to. */
  outputFolder: string | null;
  /** How long its artifacts are kept once it is destroyed; 0: not at all. */
  keepArtifactsMs: number;
  /** Template that it was made of; null when none. */
  template: TemplateOrigin | null;
  /** Hosted server that it belongs to: nothing but that server's use case finds it (S120). Null for all others. */
  serverId: string | null;
}

export interface SandboxQuery {
  namespace?: string;
  status?: SandboxState;
  sessionKey?: string;
  /** Ids after this one, newest first. */
  cursor?: string;
  limit: number;
}

/** Store of sandbox records. Writes resolve when they would survive a kill -9. */
export interface SandboxRecords {
  /** Under an id that no other was ever given: whether one has it is not looked at. */
  insert(record: SandboxRecord, within?: Batch): Promise<void>;
  update(id: string, changes: Partial<Omit<SandboxRecord, "id" | "namespace">>, within?: Batch): Promise<void>;
  get(id: string): Promise<SandboxRecord | undefined>;
  list(query: SandboxQuery): Promise<SandboxRecord[]>;
  /** All that are not destroyed; what a new daemon starts from. */
  living(): Promise<SandboxRecord[]>;
  delete(id: string, within?: Batch): Promise<void>;
}
