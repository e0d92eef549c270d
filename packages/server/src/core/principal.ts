import type { KeyScope, Role } from "./scope.ts";

/** Authenticated caller. */
export interface Principal {
  /** Id of the API key, or of the caller without one; written to the audit log. */
  id: string;
  name: string;
  /** The tenant it acts in. Only an admin's key may name another, call by call. */
  namespace: string;
  role: Role;
  /** All that it may do, for a key that is limited to scopes of its own; undefined: what its role may. */
  scopes?: readonly KeyScope[];
}

/** On whose behalf something is done, and in which request. */
export interface Caller {
  principal: Principal;
  requestId: string;
  /** Priority of its waiting jobs, within its namespace; higher goes first. */
  priority?: number;
  /** Aborted when nobody waits for the answer any more: what has not begun by then never does. */
  readonly gone?: AbortSignal | undefined;
  /** Hears how far it is with what it waits for, and so waits longer. */
  readonly told?: ((message: string) => void) | undefined;
  /** Set by the use case of hosted servers alone: it acts in sandboxes of this server, which nobody else finds. */
  readonly serverId?: string;
}

/** The same, for what goes on whoever leaves. */
export function unattended({ principal, requestId, priority, serverId }: Caller): Caller {
  return {
    ...{ principal, requestId },
    ...(priority === undefined ? {} : { priority }),
    ...(serverId === undefined ? {} : { serverId }),
  };
}
