import type { Caller } from "../core/principal.ts";
import type { ServerRecord } from "../core/server.ts";
import type { ServerLink } from "../core/server-link.ts";

/** Identifies whose a session is: one key, in one namespace, with these scopes, at this server. */
export function ownerOf({ principal }: Caller, { id }: ServerRecord): string {
  const scopes = principal.scopes === undefined ? null : principal.scopes.toSorted();
  return JSON.stringify([principal.id, principal.namespace, principal.role, scopes, id]);
}

/** Ends a lease, however often it is called. */
export function releaseOf(link: ServerLink): () => void {
  let isHeld = true;
  return () => {
    if (isHeld) link.release();
    isHeld = false;
  };
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
