import type { EngineName, FileChange } from "./engine.ts";
import type { ErrorCode } from "./errors.ts";
import type { Language } from "./language.ts";
import type { Outcome } from "./outcome.ts";

/** What is kept of a run. Everything in it is capped, and came from a caller or from hostile code. */
export interface RunRecord extends Outcome {
  run_id: string;
  sandbox_id: string;
  engine: EngineName;
  /** ISO 8601. */
  started_at: string;
  command: string;
  language: Language | null;
  /** Null for a run that has no result; `error` says why. */
  exit_code: number | null;
  signal: string | null;
  duration_ms: number;
  cpu_ms: number;
  timed_out: boolean;
  cpu_limit: boolean;
  oom_killed: boolean;
  stdout: string;
  stderr: string;
  /** More was written, or changed, than is kept here. */
  truncated: boolean;
  files_changed: FileChange[];
  error: { code: ErrorCode; message: string } | null;
}

export interface RecordOptions {
  /** Records of a sandbox, at most. */
  keep: number;
  days: number;
  /** Of each of stdout and stderr. */
  outputBytes: number;
  /** Every text that user code wrote passes through here before it is stored. When it throws, the text is left out. */
  redact?: (text: string) => string;
}
