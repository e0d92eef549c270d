import type { AuditEntry } from "../../core/audit.ts";

/** What the log says of itself when it opens and something is missing: a row that no later cleaning takes away unseen. */
export function brokenEntry(what: string): AuditEntry {
  return {
    type: "audit.broken",
    namespace: "system",
    actor: "system",
    sandboxId: null,
    requestId: null,
    detail: { what },
  };
}
