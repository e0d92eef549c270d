import type { ApprovalInfo } from "./approvals.ts";
import type { AuditRow } from "./audit.ts";
import type { QueuedJob } from "./daemon-info.ts";
import type { EgressAttempt } from "./egress.ts";
import type { DaemonEvent } from "./events.ts";
import type { RunRecord } from "./run-record.ts";
import type { Transport } from "./transport.ts";

/** A file below /workspace/output that a run created or modified. */
export interface RunArtifact {
  /** Relative to /workspace/output. */
  path: string;
  size_bytes: number;
  sha256: string | null;
}

/** Connection attempts of the run's sandbox while it ran: those of other runs at the same time are among them. */
export interface RunEgress {
  scope: "attempts in its sandbox while it ran";
  /** Null where no start is recorded. */
  from: string | null;
  /** Null where no end is recorded. */
  to: string | null;
  /** The newest, oldest of them first. */
  attempts: EgressAttempt[];
}

/** Everything about one run. */
export interface RunReport {
  run_id: string;
  sandbox_id: string;
  /** Its place in the queue; null where it does not wait. */
  job: QueuedJob | null;
  /** Null before the run has ended, and where no record is kept. */
  record: RunRecord | null;
  /** Those that it asked for, or that answered it. */
  approvals: ApprovalInfo[];
  /** Oldest first; below the role operator, the key's own entries only. */
  audit: AuditRow[];
  /** Those that are stored, oldest first. */
  events: DaemonEvent[];
  egress: RunEgress;
  artifacts: RunArtifact[];
  /** Lists that may have more entries than are shown. */
  truncated: ("approvals" | "audit" | "events" | "egress" | "artifacts")[];
}

/** Runs of the key's namespace, by their ids. */
export class Runs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Everything about the run with this id: `run_id` of its result. */
  get(id: string): Promise<RunReport> {
    return this.#transport.json("GET", `/api/v1/runs/${encodeURIComponent(id)}`);
  }
}
