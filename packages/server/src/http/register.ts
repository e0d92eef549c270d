import type { Duplex } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../core/errors.ts";
import { jsonLimits } from "../core/json-limits.ts";
import type { Caller } from "../core/principal.ts";
import { isAllowed, requireScope, type Scope } from "../core/scope.ts";
import type { Keyring } from "../identity/keyring.ts";
import { defined } from "../lib/defined.ts";
import { contextOf } from "./context-of.ts";
import { authenticate, readPriority } from "./door.ts";
import type { HeldBodies } from "./held-bodies.ts";
import type { Idempotency } from "./idempotency.ts";
import { type Holding, isJson, readJson } from "./json-body.ts";
import { httpLimits } from "./limits.ts";
import { report } from "./problem.ts";
import { discardRest } from "./request-body.ts";
import { type CallParts, RequestCall, spend } from "./request-call.ts";
import type { Route, RouteResponse } from "./route.ts";

export interface RegistrarParts extends CallParts {
  keyring: Keyring;
  idempotency: Idempotency;
  /** How long a body may stand still. */
  bodyIdleMs: number;
  /** How long all of a JSON body may take. */
  bodyMs: number;
  bodies: HeldBodies;
  /** Whom a ticket in a query stands for. */
  redeemTicket: (token: string, url: string) => Promise<Caller["principal"] | undefined>;
}

const letIn = Symbol("who was let in");
type Admitted = FastifyRequest & { [letIn]?: Caller };

/** `/a/{id}/files/{path}` as Fastify writes it. */
function toFastifyPath(path: string): string {
  return path.replace(/\{path\}$/, "*").replace(/\{(\w+)\}/g, ":$1");
}

/** Registers a route with Fastify. The caller is authenticated before a byte of the body is read. */
export function register(app: FastifyInstance, route: Route, parts: RegistrarParts): void {
  app.route({
    method: route.method,
    url: toFastifyPath(route.path),
    config: { failure: route.failure },
    onRequest: (request) => admit(route, request, parts),
    ...(takesJson(route)
      ? { preValidation: (request: FastifyRequest, reply: FastifyReply) => takeJson(route, request, reply, parts) }
      : {}),
    handler: (request, reply) => respond(route, request, reply, parts),
    ...(route.socket === undefined
      ? {}
      : {
          wsHandler: (socket: import("ws").WebSocket, request: FastifyRequest) => {
            serveSocket(route, request, socket, parts);
          },
        }),
  });
}

function takesJson({ method, raw, body }: Route): boolean {
  return (raw === undefined || body !== undefined) && method !== "GET" && method !== "HEAD";
}

async function takeJson(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  parts: RegistrarParts,
): Promise<void> {
  if (route.raw !== undefined && !isJson(request.headers["content-type"])) return;
  const { bodyBytes: bytes = httpLimits.jsonBytes, bodyShape: shape = jsonLimits.request, bodyStrict: strict } = route;
  const holding = holdingOf(request, reply, parts.bodies);
  try {
    request.body = await readJson(
      request.raw,
      { bytes, shape, ...defined({ strict }), wholeMs: parts.bodyMs },
      holding,
    );
  } catch (error) {
    holding.release(); // others may need the room before this one's answer is out
    throw error;
  }
}

/** Counts a body until its response has left or its client has gone. */
function holdingOf(request: Admitted, reply: FastifyReply, bodies: HeldBodies): Holding & { release(): void } {
  const { id, namespace } = callerOf(request)?.principal ?? { id: "", namespace: "" };
  const owner = { id, namespace };
  let held = 0;
  const release = () => {
    bodies.release(owner, held);
    held = 0;
  };
  return {
    release,
    add: (bytes) => {
      if (held === 0) reply.raw.once("close", release);
      bodies.add(owner, bytes);
      held += bytes;
    },
    turn: () => bodies.turn(),
  };
}

/** Authenticates the caller, counts the request against its rate, and checks its scope. */
async function admit(route: Route, request: FastifyRequest, parts: RegistrarParts): Promise<void> {
  const { scope } = route;
  if (scope === null) return;
  const { ticket } = request.query as { ticket?: unknown };
  const redeemed =
    route.socket !== undefined && typeof ticket === "string"
      ? await parts.redeemTicket(ticket, request.url.split("?")[0] ?? "")
      : undefined;
  const principal = redeemed ?? (await authenticate(request, parts.keyring));
  spend(parts, principal, 1);
  if (addsRows(route)) parts.journal.requireRoom(principal);
  const caller = { principal, requestId: request.id };
  const params = request.params as Record<string, string>;
  const isLetIn = route.allows === undefined ? isAllowed(principal, scope) : route.allows(principal, params);
  if (!isLetIn) return refuse(route, caller, scope, parts);
  (request as Admitted)[letIn] = { ...caller, ...readPriority(request.headers["x-caisson-priority"]) };
}

/** Deletions work always; tools look for room by themselves. */
function addsRows(route: Route): boolean {
  if (route.scope === null) return false;
  return route.method !== "DELETE" && route.audit !== null && route.audit !== "tools";
}

async function refuse(route: Route, caller: Caller, scope: Scope, { journal }: RegistrarParts): Promise<void> {
  journal.requireRoom(caller.principal);
  const data = { method: route.method, route: route.path, role: caller.principal.role };
  await journal.record({ type: "access.denied", by: caller, data });
  requireScope(caller.principal, scope);
  throw new AppError("forbidden", "the scopes of this key do not permit this");
}

async function respond(route: Route, request: FastifyRequest, reply: FastifyReply, parts: RegistrarParts) {
  const caller = callerOf(request);
  const call = new RequestCall(route, request, reply, caller, parts);
  const owner = caller?.principal.id ?? "";
  parts.unread.add(owner, reply.raw);
  let actMs: number | undefined; // none where the answer was given before
  const act = async (): Promise<RouteResponse> => {
    const beganMs = performance.now();
    try {
      return await route.handler(call as never);
    } finally {
      if (route.raw !== undefined) discardRest(request.body);
      await call.recorded();
      actMs = performance.now() - beganMs;
    }
  };
  const key = request.headers["idempotency-key"];
  const answer =
    route.idempotent && key !== undefined
      ? await parts.idempotency.once({ caller: call.caller, route, key, request: [call.params, call.body] }, act)
      : await act();
  return send(reply, answer, actMs, (bytes) => parts.unread.check(owner, bytes));
}

function callerOf(request: Admitted): Caller | undefined {
  return request[letIn];
}

function send(
  reply: FastifyReply,
  { status, json, text, stream, takeOver, headers = {} }: RouteResponse,
  actMs: number | undefined,
  check: (bytes: number) => void,
): FastifyReply {
  const told = json === undefined ? undefined : JSON.stringify(json);
  check(told?.length ?? 0);
  if (takeOver !== undefined) return handOver(reply, takeOver);
  for (const [name, value] of Object.entries(headers)) reply.header(name, value);
  const act = actMs === undefined ? "" : `, act;dur=${actMs.toFixed(3)}`;
  reply.header("server-timing", `total;dur=${reply.elapsedTime.toFixed(3)}${act}`);
  reply.status(status);
  if (told !== undefined) return reply.type("application/json; charset=utf-8").send(told);
  return reply.send(stream ?? text);
}

function handOver(reply: FastifyReply, takeOver: (socket: Duplex) => void): FastifyReply {
  const { socket } = reply.request.raw;
  reply.hijack();
  reply.raw.detachSocket(socket);
  socket.setTimeout(0);
  takeOver(socket);
  return reply;
}

function serveSocket(
  route: Route,
  request: FastifyRequest,
  socket: import("ws").WebSocket,
  parts: RegistrarParts,
): void {
  socket.on("error", () => socket.terminate());
  const serve = async () => {
    const call = new RequestCall(route, request, undefined, callerOf(request), parts);
    await route.socket?.(call as never, socket);
    await call.recorded();
  };
  serve().then(
    () => closeSocket(socket, 1000),
    (error: unknown) => {
      const { code, message } = report(error, parts.onError, contextOf(request));
      closeSocket(socket, 4000, Buffer.from(`${code}: ${message}`).subarray(0, 120).toString());
    },
  );
}

/** One that is not read from would never hear the other side's goodbye. */
function closeSocket(socket: import("ws").WebSocket, code: number, reason?: string): void {
  socket.resume();
  socket.close(code, reason);
}
