import type { ErrorCode } from "./error.ts";
import type { FileChange, RunMet } from "./run.ts";
import type { EngineName } from "./sandbox-info.ts";

/** Record of a run. */
export interface RunRecord extends Pick<RunMet, "outcome" | "ended_by"> {
  run_id: string;
  sandbox_id: string;
  engine: EngineName;
  started_at: string;
  command: string;
  language: string | null;
  exit_code: number | null;
  signal: string | null;
  duration_ms: number;
  cpu_ms: number;
  timed_out: boolean;
  cpu_limit: boolean;
  oom_killed: boolean;
  stdout: string;
  stderr: string;
  truncated: boolean;
  files_changed: FileChange[];
  error: { code: ErrorCode; message: string } | null;
}

/** Current resource usage of a sandbox, as the kernel counts it. */
export interface SandboxStats {
  cpu_ms: number;
  memory_bytes: number;
  memory_peak_bytes: number;
  oom_kills: number;
  processes: number;
  io_read_bytes: number;
  io_write_bytes: number;
}
