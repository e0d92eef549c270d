/** Who may knock at all: claims S30 and S31 of SECURITY.md. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../core/errors.ts";
import type { Principal } from "../core/principal.ts";
import { isAllowed, keyFor } from "../core/scope.ts";
import type { Keyring } from "../identity/keyring.ts";
import { queueLimits } from "../sandboxes/fleet/limits.ts";
import { requestHeaders } from "../schemas/headers.ts";
import type { CalledAs } from "./called-as.ts";

const loopbackHosts = ["localhost", "127.0.0.1", "[::1]"];

/** A browser that was led here by another name (DNS rebinding) sends that name. */
export function checkHosts({ hosts }: CalledAs, allowed: readonly string[]): void {
  for (const host of hosts) {
    const name = /^(\[[0-9a-f:.]+\]|[^:]+)(:\d{1,5})?$/i.exec(host ?? "")?.[1]?.toLowerCase();
    if (name === undefined || !(loopbackHosts.includes(name) || allowed.includes(name)))
      throw new AppError("forbidden", "unknown host name of this server", {
        hint: "use localhost, or add the name to the setting hosts",
      });
  }
}

/** Pages of other origins get no answer, unless they are configured. Programs send no Origin. */
export function checkOrigin(origin: string | undefined, called: CalledAs, allowed: readonly string[]): void {
  if (origin === undefined || allowed.includes(origin) || origin === called.origin) return;
  throw new AppError("forbidden", "web pages of this origin cannot call this server", {
    hint: "set public_url to the address that browsers use, or add the origin to the setting origins",
  });
}

/** Allows pages of a configured origin to read responses. */
export function allowOrigin(request: FastifyRequest, reply: FastifyReply, allowed: readonly string[]): void {
  const { origin } = request.headers;
  if (origin === undefined || !allowed.includes(origin)) return;
  reply.header("access-control-allow-origin", origin);
  reply.header("vary", "origin");
  reply.header("access-control-expose-headers", "content-range, link, location, retry-after, x-request-id");
  reply.header("access-control-allow-methods", "GET, HEAD, POST, PUT, PATCH, DELETE");
  reply.header(
    "access-control-allow-headers",
    "authorization, content-type, idempotency-key, last-event-id, range, x-api-key, x-caisson-namespace, x-caisson-priority",
  );
}

/** The token of a request; a request that names two different ones is refused. */
function tokenOf(request: FastifyRequest): string | undefined {
  const { "x-api-key": plain, authorization } = request.headers;
  const bearer = authorization === undefined ? undefined : /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  if (authorization !== undefined && bearer === undefined)
    throw new AppError("unauthenticated", "Authorization must be Bearer and an API key");
  const key = Array.isArray(plain) ? plain[0] : plain;
  if (key !== undefined && bearer !== undefined && key !== bearer)
    throw new AppError("unauthenticated", "X-API-Key and Authorization hold different keys");
  return key ?? bearer;
}

/** Only an administrator may act in another namespace than its key's. */
function inNamespace(principal: Principal, named: string | string[] | undefined): Principal {
  if (named === undefined || named === principal.namespace) return principal;
  const namespace = requestHeaders.namespace.safeParse(named);
  if (!namespace.success) throw new AppError("invalid", "X-Caisson-Namespace is not a valid namespace");
  if (!isAllowed(principal, "administer"))
    throw new AppError("forbidden", "this key belongs to another namespace", {
      hint: `to select a namespace, ${keyFor(principal, "administer")}`,
    });
  return { ...principal, namespace: namespace.data };
}

/** The principal of a request's key, in the namespace that the request names. */
export async function authenticate(request: FastifyRequest, keyring: Keyring): Promise<Principal> {
  const token = tokenOf(request);
  if (token === undefined)
    throw new AppError("unauthenticated", "missing API key", {
      hint: "send it in X-API-Key or Authorization: Bearer",
    });
  return inNamespace(await keyring.authenticate(token), request.headers["x-caisson-namespace"]);
}

/** For whatever of the request has to wait, and says no other. */
export function readPriority(given: string | string[] | undefined): { priority?: number } {
  if (given === undefined) return {};
  const priority = requestHeaders.priority.safeParse(given);
  if (priority.success) return { priority: priority.data };
  const { min, max } = queueLimits.priority;
  throw new AppError("invalid", `X-Caisson-Priority must be a whole number from ${min} to ${max}`);
}
