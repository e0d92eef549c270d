import { AppError } from "./errors.ts";

/** Weakest first: each may do what those before it may. */
export const roles = ["viewer", "agent", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

/** Who calls, as the door found out. */
export interface Principal {
  /** Of the API key, or of what stands for one; goes into the audit log. */
  id: string;
  name: string;
  /** The tenant it acts in. Only an admin's key may name another, call by call. */
  namespace: string;
  role: Role;
}

/** What a call needs: reads, uses of sandboxes, the running of the place, the keys to it. */
export const permissions = {
  read: "viewer",
  use: "agent",
  operate: "operator",
  administer: "admin",
  /** Content of the audit log that is not masked. */
  unmask: "admin",
} as const satisfies Record<string, Role>;
export type Permission = keyof typeof permissions;

export function isAllowed(principal: Principal, permission: Permission): boolean {
  return roles.indexOf(principal.role) >= roles.indexOf(permissions[permission]);
}

export function requirePermission(principal: Principal, permission: Permission): void {
  if (isAllowed(principal, permission)) return;
  throw new AppError("forbidden", `the role ${principal.role} may not do this`, {
    hint: `it takes a key with the role ${permissions[permission]}`,
  });
}

/** On whose behalf something is done, and in which request. */
export interface Caller {
  principal: Principal;
  requestId: string;
  /** Of what it has to wait for, within its namespace; higher goes first. */
  priority?: number;
  /** Aborted when nobody waits for the answer any more: what has not begun by then never does. */
  readonly gone?: AbortSignal | undefined;
  /** Hears how far it is with what it waits for, and so waits longer. */
  readonly told?: ((message: string) => void) | undefined;
}

/** The same, for what goes on whoever leaves. */
export function unattended({ principal, requestId, priority }: Caller): Caller {
  return { principal, requestId, ...(priority === undefined ? {} : { priority }) };
}
