import { AppError } from "./errors.ts";
import type { Principal } from "./principal.ts";

/** Named sets of scopes, the weakest first. */
export const roles = ["viewer", "agent", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

interface ScopeRow {
  allows: string;
  roles: readonly Role[];
}

/** All that a caller can be allowed. Each route and each tool names one scope; a new scope is one row here. */
export const scopes = {
  read: {
    allows: "list and read what the namespace has: sandboxes, files, runs, events, approvals",
    roles: ["viewer", "agent", "operator", "admin"],
  },
  use: {
    allows: "create, change and delete sandboxes, run code in them, request approvals",
    roles: ["agent", "operator", "admin"],
  },
  operate: {
    allows: "answer approvals, change policies, secrets, templates and webhooks, read the audit log",
    roles: ["operator", "admin"],
  },
  administer: {
    allows: "manage keys and images, delete unused data, act in every namespace",
    roles: ["admin"],
  },
  unmask: {
    allows: "read content of the audit log that is kept in full",
    roles: ["admin"],
  },
} as const satisfies Record<string, ScopeRow>;
export type Scope = keyof typeof scopes;

/** The weakest role that holds a scope. */
export function lowestRole(scope: Scope): Role {
  return scopes[scope].roles[0];
}

export function isAllowed(principal: Pick<Principal, "role">, scope: Scope): boolean {
  const holders: readonly Role[] = scopes[scope].roles;
  return holders.includes(principal.role);
}

export function requireScope(principal: Principal, scope: Scope): void {
  if (isAllowed(principal, scope)) return;
  throw new AppError("forbidden", `the role ${principal.role} does not permit this`, {
    hint: `use a key with the role ${lowestRole(scope)}`,
  });
}
