import type { NetworkRequest } from "./egress.ts";

/** Shapes of the API, as it sends them. */
export type EngineName = "gvisor" | "container";
export type SandboxState = "creating" | "running" | "paused" | "stopped" | "failed" | "destroyed";

export interface SandboxInfo {
  id: string;
  status: SandboxState;
  workspace_path: string;
  namespace: string;
  engine: EngineName;
  image: string;
  session_key: string | null;
  memory_mb: number;
  cpus: number;
  cpu_shares: number;
  max_processes: number;
  storage_mb: number;
  env_names: string[];
  labels: Record<string, string>;
  description: string;
  created_at: string;
  last_used_at: string;
  idle_timeout_seconds: number;
  expires_at: string;
  paused_at: string | null;
  /** From the pool, or why it was started for this request. */
  origin: string;
  failure: string | null;
  created_by: string;
  output_folder: string | null;
  keep_artifacts_seconds: number;
  /** Template that it was made of. `memory`: true when it began with the warm-up's memory; `why`: the reason when not. */
  template: { id: string; name: string; memory: boolean; why: string | null } | null;
}

export interface SandboxChanges {
  /** All of its variables, for what starts from then on. */
  env?: Record<string, string>;
  labels?: Record<string, string>;
  description?: string;
  idle_timeout_seconds?: number;
  lifetime_seconds?: number;
  memory_mb?: number;
  cpus?: number;
  cpu_shares?: number;
  max_processes?: number;
}

export interface CreateOptions extends SandboxChanges {
  /** `memory_mb`, `cpus` and `max_processes` by the names of settings; give each once. */
  resource_limits?: { max_ram_mb?: number; max_cpu_cores?: number; max_processes?: number };
  image?: string;
  /** The id or name of one; it decides about image, engine, files and storage. */
  template?: string;
  /** `process` and `docker` are other names of `container`. */
  engine?: EngineName | "auto" | "process" | "docker";
  storage_mb?: number;
  /** The same key gets the same sandbox. */
  session_key?: string;
  warm?: "start" | "first-use" | "never";
  priority?: number;
  snapshot_id?: string;
  /** The name of a folder that the daemon's operator gave; copied to /workspace/input, read-only. */
  input_folder?: string;
  /** Likewise; /workspace/output is copied there when the sandbox is stopped, reset or destroyed. */
  output_folder?: string;
  /** How long what it left in /workspace/output can be had once it is destroyed. */
  keep_artifacts_seconds?: number;
  /** Network policy on top of its namespace's. */
  network?: NetworkRequest;
}

export interface ListOptions {
  status?: SandboxState;
  session_key?: string;
}
