import type { AuditEntry, AuditPosition } from "./audit.ts";

/**
 * Changes of records and audit entries that are committed together, or not at all. Methods of records that take a batch
 * only add to it, and succeed as far as they can know.
 */
export interface Batch {
  record(entry: AuditEntry): void;
  /**
   * Resolves with the places of the entries, in their order, when all of it would survive a kill -9. When any part fails,
   * nothing is changed: with `conflict` where a record was not as its change requires. A batch is committed once.
   */
  commit(): Promise<AuditPosition[]>;
}
