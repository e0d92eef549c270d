/** How a process of a sandbox ended, as every surface shows it. */
export interface ProcessResult {
  exit_code: number;
  signal: string | null;
  duration_ms: number;
  cpu_ms: number;
  max_rss: number;
  timed_out: boolean;
  cpu_limit: boolean;
  oom_killed: boolean;
}
