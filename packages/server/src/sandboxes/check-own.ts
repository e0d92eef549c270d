import type { Audit } from "../core/audit.ts";
import { AppError } from "../core/errors.ts";
import type { Fleet } from "../core/fleet.ts";
import type { Caller } from "../core/principal.ts";
import { isAllowed } from "../core/scope.ts";

interface CheckOwnParts {
  fleet: Pick<Fleet<unknown>, "get">;
  audit: Pick<Audit, "making">;
}

/**
 * Refuses a sandbox that the caller could not find, now or before it was destroyed (S30, S79, S120). Whose it was is in the audit
 * log, from before anybody had it: no caller has a say in the type and the namespace of that row.
 */
export async function checkOwn({ fleet, audit }: CheckOwnParts, caller: Caller, id: string): Promise<void> {
  try {
    await fleet.get(caller, id);
  } catch (error) {
    const isGone = error instanceof AppError && error.code === "not_found";
    if (!isGone || !(await wasOwn(audit, caller, id))) throw error;
  }
}

async function wasOwn(audit: Pick<Audit, "making">, { principal, serverId }: Caller, id: string): Promise<boolean> {
  const making = await audit.making(id);
  if (making?.namespace !== principal.namespace || making.detail.server_id !== serverId) return false;
  return making.detail.for_template !== true || isAllowed(principal, "operate");
}
