import type { DatabaseSync } from "node:sqlite";
import { auditLimits } from "../limits.ts";

/** Rows of a chain behind one of its rows, and all rows behind a position. */
export interface Foreign {
  namespace: string;
  after: number;
  /** Not looked at unless given. */
  afterPosition?: number;
  atMs: number;
}

const columns = ["at_ms", "type", "actor", "sandbox_id", "request_id", "run_id", "detail", "hash", "mac"];
const written = columns.map((column) => `quote(${column})`).join(" || ', ' || ");

/**
 * Moves rows that this daemon did not write out of the log, into a table of their own where somebody can look at them. The
 * newest of them stay there. Returns how many rows were moved.
 */
export function setAside(db: DatabaseSync, { namespace, after, afterPosition, atMs }: Foreign): number {
  const where = "(namespace = ? and sequence > ?) or position > ?";
  const which = [namespace, after, afterPosition ?? Number.MAX_SAFE_INTEGER] as const;
  db.prepare(
    `insert into audit_foreign (namespace, sequence, position, found_at_ms, row)
     select namespace, sequence, position, ?, substr(${written}, 1, ?) from audit where ${where} limit ?`,
  ).run(atMs, auditLimits.foreignCharacters, ...which, auditLimits.foreignRows);
  const { changes } = db.prepare(`delete from audit where ${where}`).run(...which);
  db.prepare(
    "delete from audit_foreign where id <= (select id from audit_foreign order by id desc limit 1 offset ?)",
  ).run(auditLimits.foreignRows);
  return Number(changes);
}
