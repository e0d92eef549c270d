import type { EngineName } from "./sandbox-info.ts";

export interface RunOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** Text for its standard input. */
  stdin?: string;
  /** Bytes for it, in place of text. */
  stdin_base64?: string;
  /** Wall clock; 0 for none. */
  timeout_seconds?: number;
  resource_limits?: {
    memory_mb?: number;
    /** Another name of `memory_mb`. */
    max_ram_mb?: number;
    /** Not fewer than the sandbox has: cores are a limit of the sandbox. */
    max_cpu_cores?: number;
    timeout_seconds?: number;
    cpu_time_seconds?: number;
    max_processes?: number;
    max_output_bytes?: number;
  };
  /** Names that may be reached while it runs, as rules: `api.example.com`, `db.example.com:5432`. */
  allowed_domains?: string[];
  /** True: the result lists files_changed. Default: true. */
  track_files?: boolean;
  priority?: number;
}

export interface FileChange {
  path: string;
  action: "created" | "modified" | "deleted";
  size_bytes: number;
  sha256: string | null;
}

/** How a process ended. */
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

/** A destination that the sandbox did not reach while a run went on. */
export interface NetworkRefusal {
  host: string;
  /** 0: the name was looked up, and does not exist for the sandbox. */
  port: number;
  /** Denied by policy or a human, failed to be reached, or limited by what a sandbox may have at once. */
  kind: "denied" | "failed" | "limited";
  reason: string;
  /** Advice for the caller. */
  hint: string;
}

/** Refusals during a run, and the limit that ended it. */
export interface RunMet {
  /** `completed`: with exit code 0; `timeout`: at its time limit; `failed`: otherwise, also without any result. */
  outcome: "completed" | "failed" | "timeout";
  /** The limit that ended it; null when none did. Too much output is `truncated` and ends nothing. */
  ended_by: "time" | "cpu_time" | "memory" | null;
  /** One for each host and port; of all runs of the sandbox that went on at the same time. */
  refused: NetworkRefusal[];
  /** There were more than `refused` lists. */
  refused_truncated: boolean;
}

/** How a run ended, its output apart. */
export interface RunEnd extends ProcessResult, RunMet {
  /** `caisson.runs.get(id)` finds everything about the run. */
  run_id: string;
  truncated: boolean;
  warm: boolean;
  files_changed: FileChange[];
  files_changed_truncated: boolean;
  engine: EngineName;
  enforced: string[];
  not_enforced: { what: string; why: string }[];
}

export interface RunResult extends RunEnd {
  stdout: string;
  stderr: string;
}

/** Message of a run under way: output, or its result as the last one. */
export type RunMessage = { type: "stdout" | "stderr"; data: string } | ({ type: "result" } & RunEnd);
