import type { Destination } from "../core/egress.ts";
import { fitsRules } from "./http-target.ts";
import type { Credentials, Filled } from "./inspection/credentials.ts";
import type { Passage, Permit } from "./passage.ts";
import type { Refusal } from "./refusal.ts";

/** One request, however it came. */
export interface Asked {
  destination: Destination;
  method: string;
  path: string;
  /** Names and values in turn. */
  fields: readonly string[];
  isInspected: boolean;
}

export interface AdmitParts {
  passage: Passage;
  credentials: Credentials;
}

export type Admitted = (Filled & { permit: Permit; refusal?: undefined }) | { refusal: Refusal };

/** What a human has approved for a connection (`earlier`) holds for all of its requests. */
export async function admit({ passage, credentials }: AdmitParts, asked: Asked, earlier?: Permit): Promise<Admitted> {
  const judged = await passage.judge(asked.destination, earlier);
  if (judged.permit === undefined) return judged;
  const { permit } = judged;
  const { method, path } = asked;
  if (!fitsRules(permit.verdict, method, path))
    return passage.refuse(permit, "denied", `no rule lets ${method} ${path.split("?")[0]} out`, null);
  const filled = await credentials.fill(permit.destination.host, asked);
  if (filled.objection !== undefined) return passage.refuse(permit, "denied", filled.objection, null);
  return { ...filled, permit };
}
