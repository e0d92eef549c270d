import type { AuditEntry } from "../core/audit.ts";
import type { Caller } from "../core/principal.ts";
import type { Note } from "./route.ts";

/** A note as the timeline takes it. */
export function toEntry({ principal, requestId }: Caller, { type, sandboxId, detail }: Note): AuditEntry {
  const { id: actor, namespace } = principal;
  return { type, namespace, actor, sandboxId: sandboxId ?? null, requestId, detail };
}
