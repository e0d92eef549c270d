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

/** A scope of the table, or one hosted server (`server:ID`), or one of its tools (`server:ID:TOOL`). */
export type KeyScope = Scope | `server:${string}`;

/** The weakest role that holds a scope. */
export function lowestRole(scope: Scope): Role {
  return scopes[scope].roles[0];
}

/** A key with scopes of its own has these, as far as its role has them. */
export function isAllowed({ role, scopes: own }: Pick<Principal, "role" | "scopes">, scope: Scope): boolean {
  const holders: readonly Role[] = scopes[scope].roles;
  return holders.includes(role) && (own === undefined || own.includes(scope));
}

/** True if it may connect to this hosted server, and list what the server offers. */
export function mayReachServer({ role, scopes: own }: Pick<Principal, "role" | "scopes">, serverId: string): boolean {
  if (!isAllowed({ role }, "use")) return false;
  const prefix = `server:${serverId}`;
  return own === undefined || own.some((one) => one === prefix || one.startsWith(`${prefix}:`));
}

/** True if it may use all that a hosted server offers: prompts, resources, and each of its tools. */
export function mayUseServer({ role, scopes: own }: Pick<Principal, "role" | "scopes">, serverId: string): boolean {
  return isAllowed({ role }, "use") && (own === undefined || own.includes(`server:${serverId}`));
}

/** True if it may call this tool of a hosted server. */
export function mayCallTool(
  { role, scopes: own }: Pick<Principal, "role" | "scopes">,
  serverId: string,
  tool: string,
): boolean {
  if (!isAllowed({ role }, "use")) return false;
  return own === undefined || own.includes(`server:${serverId}`) || own.includes(`server:${serverId}:${tool}`);
}

export function requireScope(principal: Pick<Principal, "role" | "scopes">, scope: Scope): void {
  if (isAllowed(principal, scope)) return;
  throw new AppError("forbidden", whyNot(principal, scope), { hint: keyFor(principal, scope) });
}

/** Reason why a key may not do what takes a scope: the role is asked first. */
export function whyNot({ role }: Pick<Principal, "role" | "scopes">, scope: Scope): string {
  return isAllowed({ role }, scope)
    ? `this key does not have the scope ${scope}`
    : `the role ${role} does not permit this`;
}

/** Hint that names the key to use. */
export function keyFor({ role }: Pick<Principal, "role" | "scopes">, scope: Scope): string {
  return isAllowed({ role }, scope)
    ? `use a key with the scope ${scope}, or one without scopes of its own`
    : `use a key with the role ${lowestRole(scope)}`;
}
