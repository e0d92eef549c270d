import { AppError } from "../core/errors.ts";
import type { Principal } from "../core/principal.ts";
import { isAllowed, keyFor } from "../core/scope.ts";

/** The namespace that a caller sees; undefined for all, which takes an administrator. */
export function visibleNamespace(principal: Principal, all: boolean | undefined): string | undefined {
  if (!all) return principal.namespace;
  if (isAllowed(principal, "administer")) return undefined;
  throw new AppError("forbidden", "only administrators can use all namespaces", {
    hint: keyFor(principal, "administer"),
  });
}
