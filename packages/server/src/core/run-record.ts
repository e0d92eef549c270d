import type { Batch } from "./batch.ts";
import type { EngineName, FileChange } from "./engine.ts";
import type { ErrorCode } from "./errors.ts";
import type { Language } from "./language.ts";
import type { Outcome } from "./outcome.ts";

/** Record of a run. Everything in it is capped, and came from a caller or from hostile code. */
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
  /** Maximum size of each of stdout and stderr. */
  outputBytes: number;
  /** Every text that user code wrote passes through here before it is stored. When it throws, the text is left out. */
  redact?: (text: string) => string;
}

export interface RunQuery {
  sandboxId: string;
  /** After the run with this id; from the newest one unless given. */
  cursor?: string;
  limit: number;
}

/** Past these the oldest records go. */
export interface RunBounds {
  /** Bounds of one sandbox's records. */
  keep: number;
  sandboxBytes: number;
  /** Bounds of one namespace's records. */
  namespaceRecords: number;
  namespaceBytes: number;
}

/** Records that the sandboxes of a namespace have added since its bounds were last enforced. */
export interface AddedRuns {
  namespace: string;
  sandboxes: ReadonlyMap<string, { records: number; bytes: number }>;
}

/** The records of a daemon's runs. */
export interface RunRecords {
  /** Returns the record's size in bytes. */
  insert(namespace: string, record: RunRecord, within?: Batch): Promise<number>;
  get(namespace: string, runId: string): Promise<RunRecord | undefined>;
  /** Newest first. */
  list(query: RunQuery): Promise<RunRecord[]>;
  /**
   * Removes records past the bounds: of each sandbox its own oldest; of the namespace the oldest of sandboxes that are gone, and
   * where that is not enough, of each sandbox as many of its own as it has added. Nobody else's runs remove those of a living sandbox (S104).
   */
  prune(added: AddedRuns, bounds: RunBounds): Promise<void>;
  /** Removes those of runs that ended before. */
  expire(beforeMs: number): Promise<void>;
}
