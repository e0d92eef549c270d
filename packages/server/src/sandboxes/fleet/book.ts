import type { News, Recorder } from "../../core/journal.ts";
import type { Caller } from "../../core/principal.ts";
import type { SandboxRecord, SandboxRecords } from "../../core/sandbox-record.ts";

/** On whose behalf; undefined for what the daemon does by itself. */
export type Actor = Caller | undefined;

/** Where the fleet changes records, together with the events that tell of it. */
export interface Book {
  records: SandboxRecords;
  journal: Recorder;
}

/** Whose sandbox an event is about, and who did it. */
export function about({ id, namespace }: Pick<SandboxRecord, "id" | "namespace">, actor: Actor) {
  return { by: actor ?? "system", namespace, sandboxId: id } as const;
}

/** The plain, visible counterpart of secrets: by name, as it starts (SEC-04). */
export function environmentOf(record: SandboxRecord, actor: Actor): News[] {
  const names = Object.keys(record.env).sort();
  if (names.length === 0) return [];
  return [{ ...about(record, actor), type: "sandbox.environment", data: { variables: names.join(" ") } }];
}
