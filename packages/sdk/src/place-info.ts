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
}

export interface PlaceStats {
  version: string;
  uptime_seconds: number;
  sandboxes: Record<string, number>;
  memory_bytes: number;
}
