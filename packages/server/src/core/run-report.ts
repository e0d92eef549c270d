import type { Approval } from "./approval.ts";
import type { AuditRow } from "./audit.ts";
import type { LoggedAttempt } from "./egress-policies.ts";
import type { FileChange } from "./engine.ts";
import type { QueuedJob } from "./fleet.ts";
import type { RunRecord } from "./run-record.ts";

/** Lists of a report, each cut at a limit. */
export const reportLists = ["approvals", "audit", "events", "egress", "artifacts"] as const;
type ReportList = (typeof reportLists)[number];

/** Entries of each list of a report. Artifacts are bounded by the record. */
export const reportLimits = { approvals: 20, rows: 200, attempts: 100 } as const;

/** A file below /workspace/output that a run created or modified. */
export interface RunArtifact extends Pick<FileChange, "size_bytes" | "sha256"> {
  /** Relative to /workspace/output. */
  path: string;
}

/** Connection attempts of a sandbox during a run. A connection carries no process: those of other runs at the same time are among them. */
export interface RunAttempts {
  /** Null where no start is recorded. */
  fromMs: number | null;
  /** Null where no end is recorded: the run may still go on. */
  toMs: number | null;
  /** Oldest first. */
  attempts: LoggedAttempt[];
}

/** Everything about one run, found by its id. */
export interface RunReport {
  runId: string;
  sandboxId: string;
  /** The run's place in the queue; undefined where it does not wait. */
  job: QueuedJob | undefined;
  /** Undefined before the run has ended, and where no record is kept. */
  record: RunRecord | undefined;
  /** Approvals that the run asked for, or that answered it. */
  approvals: Approval[];
  /** Entries of the audit log about the run, oldest first. */
  rows: AuditRow[];
  /** Those of the entries that the caller may read in the audit log. */
  readable: AuditRow[];
  egress: RunAttempts;
  artifacts: RunArtifact[];
  /** Lists with more entries than the report holds. */
  truncated: ReportList[];
}
