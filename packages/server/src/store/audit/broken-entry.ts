import type { AuditEntry } from "../../core/audit.ts";

/** What the log says of itself where something of it is missing or was not written by this daemon: a row that no later cleaning removes unseen. */
export function brokenEntry(namespace: string, what: string): AuditEntry {
  return { type: "audit.broken", namespace, actor: "system", sandboxId: null, requestId: null, detail: { what } };
}
