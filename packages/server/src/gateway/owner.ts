import type { Caller } from "../core/principal.ts";
import type { ServerRecord } from "../core/server.ts";

/** Identifies whose a session is: one key, in one namespace, with these scopes, at this server. */
export function ownerOf({ principal }: Caller, { id }: ServerRecord): string {
  const scopes = principal.scopes === undefined ? null : principal.scopes.toSorted();
  return JSON.stringify([principal.id, principal.namespace, principal.role, scopes, id]);
}

/** An answer, and what to call when the last of it went out. */
export interface Served {
  response: Response;
  done?: () => void;
}

export async function serve(work: () => Promise<Response>, done: () => void): Promise<Served> {
  try {
    return { response: await work(), done };
  } catch (error) {
    done();
    throw error;
  }
}
