import type { AuditRow, AuditValue } from "../core/audit.ts";

/** A row as it leaves the store: over REST, in an export, on the command line. */
export interface AuditJson {
  /** In the timeline of the whole store; a cursor. */
  position: number;
  /** In the chain of its namespace. */
  sequence: number;
  /** ISO 8601, to the millisecond. */
  at: string;
  type: string;
  namespace: string;
  actor: string;
  sandbox_id: string | null;
  request_id: string | null;
  run_id: string | null;
  detail: { [key: string]: AuditValue };
  hash: string;
}

export function toJson(row: AuditRow): AuditJson {
  return {
    position: row.position,
    sequence: row.sequence,
    at: new Date(row.atMs).toISOString(),
    type: row.type,
    namespace: row.namespace,
    actor: row.actor,
    sandbox_id: row.sandboxId,
    request_id: row.requestId,
    run_id: row.runId,
    detail: { ...row.detail },
    hash: row.hash,
  };
}
