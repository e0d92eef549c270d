import type { Events, EventType, Journal, News } from "../core/journal.ts";

export interface InsideParts {
  events: Events;
  namespaceOf: (sandboxId: string) => string | undefined;
  journal: Pick<Journal, "record">;
  onError: (error: unknown) => void;
}

/** Events that only the owner of a sandbox sees. Use cases record everything else. */
const inside: readonly EventType[] = ["secret.probing", "secret.echoed", "disk.low", "disk.recovered"];

/** Records what happens inside the sandboxes of a daemon. */
export function recordInside({ events, namespaceOf, journal, onError }: InsideParts): void {
  events.subscribe(
    ({ type, sandbox_id: sandboxId, run_id: runId, data }) => {
      const known = sandboxId === null ? undefined : namespaceOf(sandboxId);
      // A secret at the wrong place is on record even where its sandbox has no owner yet.
      const namespace = known ?? (type.startsWith("secret.") ? "system" : undefined);
      if (namespace === undefined) return;
      journal.record({ type, by: "system", namespace, sandboxId, runId, data } as News).catch(onError);
    },
    { types: inside },
  );
}
