import type { Destination } from "../core/egress.ts";
import type { ConnectionRefusal } from "./connection-refusal.ts";
import type { AllowedDestination, Firewall } from "./firewall.ts";
import { fitsRules } from "./http-target.ts";
import type { Credentials, Filled } from "./inspection/credentials.ts";

/** One request, however it came. */
export interface ProgramRequest {
  destination: Destination;
  method: string;
  path: string;
  /** Names and values in turn. */
  fields: readonly string[];
  isInspected: boolean;
}

export interface AdmitParts {
  firewall: Firewall;
  credentials: Credentials;
}

export type Admitted = (Filled & { allowed: AllowedDestination; refusal?: undefined }) | { refusal: ConnectionRefusal };

/** What a human has approved for a connection (`earlier`) holds for all of its requests. */
export async function admit(
  { firewall, credentials }: AdmitParts,
  request: ProgramRequest,
  earlier?: AllowedDestination,
): Promise<Admitted> {
  const judged = await firewall.judge(request.destination, earlier);
  if (judged.allowed === undefined) return judged;
  const { allowed } = judged;
  const { method, path } = request;
  if (!fitsRules(allowed.verdict, method, path))
    return firewall.refuse(allowed, "denied", `no rule lets ${method} ${path.split("?")[0]} out`, null);
  const filled = await credentials.fill(allowed.destination.host, request);
  if (filled.objection !== undefined) return firewall.refuse(allowed, "denied", filled.objection, null);
  return { ...filled, allowed };
}
