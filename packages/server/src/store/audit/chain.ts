import { hash } from "node:crypto";
import type { AuditEntry } from "../../core/audit.ts";
import { AppError } from "../../core/errors.ts";
import { auditLimits } from "../limits.ts";
import { type ChainedRow, canonical, canonicalRow, storable } from "./canonical.ts";

/** What stands before the first row of a chain. */
export const genesisHash = "0".repeat(64);

export function hashRow(previous: string, row: ChainedRow): string {
  return hash("sha256", `${previous}\n${canonicalRow(row)}`);
}

/** The columns of a row beside its detail, and its place in the indexes. */
const rowBytes = 250;

/** Size of a row, as the limit of a namespace counts it. */
export function sizeOf(detail: string): number {
  return Buffer.byteLength(detail) + rowBytes;
}

function name(text: string): string {
  const kept = storable(text);
  if (kept.length > auditLimits.nameCharacters) throw new AppError("too_large", "a name in an audit entry is too long");
  return kept;
}

/** The row that an entry becomes. */
export function rowOf(entry: AuditEntry, sequence: number, atMs: number): ChainedRow {
  const detail = canonical(entry.detail);
  if (Buffer.byteLength(detail) > auditLimits.entryBytes)
    throw new AppError("too_large", `the detail of an audit entry is larger than ${auditLimits.entryBytes} bytes`);
  return {
    sequence,
    atMs: Math.trunc(atMs),
    type: name(entry.type),
    namespace: name(entry.namespace),
    actor: name(entry.actor),
    sandboxId: entry.sandboxId === null ? null : name(entry.sandboxId),
    requestId: entry.requestId === null ? null : name(entry.requestId),
    runId: entry.runId === undefined ? null : name(entry.runId),
    detail,
  };
}
