import type { EventFilter, JournalEvent } from "../core/journal.ts";

export function matches({ namespace, sandboxId, types }: EventFilter, event: JournalEvent): boolean {
  if (namespace !== undefined && namespace !== event.namespace) return false;
  if (sandboxId !== undefined && sandboxId !== event.sandbox_id) return false;
  return types === undefined || types.includes(event.type);
}
