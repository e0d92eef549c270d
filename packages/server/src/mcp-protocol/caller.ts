import type { AuthInfo, ServerContext } from "@modelcontextprotocol/server";
import { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";

/** Identifies whose a session or a waiting call is. */
export function ownerOf({ principal }: Caller): string {
  return JSON.stringify([principal.id, principal.namespace]);
}

/** A caller that the HTTP door has let in, as the SDK carries it. The token itself goes no further. */
export function toAuthInfo(caller: Caller): AuthInfo {
  return { token: "", clientId: caller.principal.id, scopes: [], extra: { caller } };
}

export function callerOf({ http }: ServerContext): Caller {
  const caller = http?.authInfo?.extra?.caller as Caller | undefined;
  if (caller === undefined) throw new AppError("unauthenticated", "the caller is not authenticated");
  return caller;
}
