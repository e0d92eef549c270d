/** Scopes that a key may be made with: claim S140. */
import { AppError } from "../core/errors.ts";
import type { Principal } from "../core/principal.ts";
import { isAllowed, type KeyScope, keyFor, lowestRole, type Role, type Scope, scopes } from "../core/scope.ts";
import { identityLimits } from "../http/limits.ts";

const names = Object.keys(scopes);

/** A scope of the table, `server:ID` or `server:ID:TOOL`. */
export const keyScopePattern = new RegExp(`^(?:${names.join("|")}|server:[0-9a-f]{16}(?::[!-~]{1,128})?)$`);

export const knownScopes = `the scopes are ${names.join(", ")}, server:ID and server:ID:TOOL`;

/** Scope of the role that a key's scope is a part of: whoever may use sandboxes may use hosted servers. */
function withinRole(scope: KeyScope): Scope {
  return Object.hasOwn(scopes, scope) ? (scope as Scope) : "use";
}

/**
 * Checks the scopes requested for a key of this role. Null: the key may do what its role may. A creator whose own key has
 * scopes gives none that it does not have.
 */
export function checkKeyScopes(
  role: Role,
  requested: readonly string[] | undefined,
  creator: Principal | undefined,
): KeyScope[] | null {
  if (requested === undefined) {
    if (creator?.scopes === undefined) return null;
    throw new AppError("forbidden", "this key has scopes of its own, and cannot create a key without scopes", {
      hint: `name some of its scopes: ${creator.scopes.join(", ")}`,
    });
  }
  const found = [...new Set(requested)].map(checkKnown);
  if (found.length === 0 || found.length > identityLimits.scopesPerKey)
    throw new AppError("invalid", `a key has 1 to ${identityLimits.scopesPerKey} scopes, or none of its own`);
  for (const scope of found) {
    const needed = withinRole(scope);
    if (!isAllowed({ role }, needed))
      throw new AppError("invalid", `the role ${role} does not have the scope ${scope}`, {
        hint: `give the key the role ${lowestRole(needed)}`,
      });
    if (creator !== undefined && !mayGive(creator, scope))
      throw new AppError("forbidden", `this key cannot create a key with the scope ${scope}`, {
        hint: keyFor(creator, needed),
      });
  }
  return found;
}

function checkKnown(text: string): KeyScope {
  if (keyScopePattern.test(text)) return text as KeyScope;
  throw new AppError("invalid", `unknown scope '${text.slice(0, 100)}'`, { hint: knownScopes });
}

/** A server's scope holds those of its tools. */
function mayGive({ role, scopes: own }: Principal, scope: KeyScope): boolean {
  if (!isAllowed({ role }, withinRole(scope))) return false;
  if (own === undefined || own.includes(scope)) return true;
  const [kind, server] = scope.split(":");
  return kind === "server" && own.includes(`server:${server}`);
}
