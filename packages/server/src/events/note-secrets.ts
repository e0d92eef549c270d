import type { Audit } from "../core/audit.ts";
import type { Events } from "../core/event.ts";

export interface NoteSecretsParts {
  events: Events;
  namespaceOf: (sandboxId: string) => string | undefined;
  audit: Pick<Audit, "record">;
  onError: (error: unknown) => void;
}

/** Writes down what shows that a secret may have come where it should not be. */
export function noteSecrets({ events, namespaceOf, audit, onError }: NoteSecretsParts): void {
  const note = (type: string, sandboxId: string, detail: { secret?: string; host?: string }) => {
    const namespace = namespaceOf(sandboxId) ?? "system";
    audit.record({ type, namespace, actor: "system", sandboxId, requestId: null, detail }).catch(onError);
  };
  events.subscribe((event) => {
    const { type, sandboxId } = event;
    if (type === "secret.probing") note(type, sandboxId, {});
    else if (type === "secret.echoed") note(type, sandboxId, { secret: event.secret, host: event.host });
  });
}
