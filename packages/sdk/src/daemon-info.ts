/** How a daemon is doing, as it says. */
export interface PoolInfo {
  image: string;
  engine: string;
  size: number;
  ready: number;
  starting: number;
  hits: number;
  misses: number;
  oldest_age_ms: number | null;
}

export interface QueueInfo {
  running: number;
  waiting: number;
  max_concurrent: number;
  max_waiting: number;
  waiting_by_namespace: Record<string, number>;
  /** Waiting jobs of the caller's namespace, the next one first. */
  jobs: QueuedJob[];
}

/** A job that waits. */
export interface QueuedJob {
  id: string;
  kind: "create" | "start" | "fork" | "checkpoint" | "restore" | "build" | "command" | "code" | "process" | "context";
  sandbox_id: string | null;
  request_id: string;
  priority: number;
  /** In the namespace's own line; 1 is the next. */
  position: number;
  waiting_ms: number;
}

export interface DaemonStats {
  version: string;
  uptime_seconds: number;
  sandboxes: Record<string, number>;
  memory_bytes: number;
}
