import type { Duplex } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Audit, entryOf, type Note } from "../core/audit.ts";
import { AppError } from "../core/errors.ts";
import { httpLimits } from "../core/http-limits.ts";
import { type Caller, requirePermission } from "../core/principal.ts";
import type { Keyring } from "../identity/keyring.ts";
import type { TokenBuckets } from "../identity/token-bucket.ts";
import { authenticate, readPriority } from "./door.ts";
import type { Idempotency } from "./idempotency.ts";
import type { OpenStreams } from "./open-streams.ts";
import { parseRequest } from "./parse.ts";
import { report } from "./problem.ts";
import { bodyPieces, discardRest } from "./request-body.ts";
import type { Answer, Call, Route } from "./route.ts";
import type { UnreadAnswers } from "./unread-answers.ts";

export interface RegistrarParts {
  keyring: Keyring;
  audit: Audit;
  buckets: TokenBuckets;
  streams: OpenStreams;
  unread: UnreadAnswers;
  idempotency: Idempotency;
  /** Whom a ticket in a query stands for. */
  redeemTicket: (token: string, url: string) => Caller["principal"] | undefined;
  /** Told of errors that are nobody's fault outside. */
  onError: ((error: unknown) => void) | undefined;
}

const callers = new WeakMap<FastifyRequest, Caller>();

/** `/a/{id}/files/{path}` as Fastify writes it. */
function toFastifyPath(path: string): string {
  return path.replace(/\{path\}$/, "*").replace(/\{(\w+)\}/g, ":$1");
}

/** Gives a route to Fastify: who calls is settled before a byte of the body is read. */
export function register(app: FastifyInstance, route: Route, parts: RegistrarParts): void {
  app.route({
    method: route.method,
    url: toFastifyPath(route.path),
    config: { failure: route.failure },
    bodyLimit: route.bodyBytes ?? httpLimits.jsonBytes,
    onRequest: (request) => admit(route, request, parts),
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

async function admit(route: Route, request: FastifyRequest, parts: RegistrarParts): Promise<void> {
  if (route.permission === null) return;
  const { ticket } = request.query as { ticket?: unknown };
  const redeemed =
    route.socket !== undefined && typeof ticket === "string"
      ? parts.redeemTicket(ticket, request.url.split("?")[0] ?? "")
      : undefined;
  const principal = redeemed ?? (await authenticate(request, parts.keyring));
  spend(parts, principal, 1);
  try {
    requirePermission(principal, route.permission);
  } catch (error) {
    const detail = { method: route.method, route: route.path, role: principal.role };
    await parts.audit.record(entryOf({ principal, requestId: request.id }, { type: "access.denied", detail }));
    throw error;
  }
  callers.set(request, { principal, requestId: request.id, ...readPriority(request.headers["x-caisson-priority"]) });
}

function spend({ buckets }: RegistrarParts, { id }: Caller["principal"], count: number): void {
  const waitMs = buckets.take(id, count);
  if (waitMs > 0) throw new AppError("limit_exceeded", "too many requests with this key", { retryAfterMs: waitMs });
}

async function respond(route: Route, request: FastifyRequest, reply: FastifyReply, parts: RegistrarParts) {
  const call = openCall(route, request, reply, parts);
  const owner = ownerOf(request);
  parts.unread.add(owner, reply.raw);
  let actMs: number | undefined; // none where the answer was given before
  const act = async (): Promise<Answer> => {
    const beganMs = performance.now();
    try {
      return await route.handler(call as never);
    } finally {
      if (route.raw !== undefined) discardRest(request.body);
      await call.noted();
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

function ownerOf(request: FastifyRequest): string {
  return callers.get(request)?.principal.id ?? "";
}

function send(
  reply: FastifyReply,
  { status, json, text, stream, takeOver, headers = {} }: Answer,
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

function openCall(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply | undefined,
  parts: RegistrarParts,
): Call<unknown, unknown, unknown> {
  const { "*": path, ...named } = request.params as Record<string, string>;
  const params = path === undefined ? named : { ...named, path };
  const caller = callers.get(request);
  if (route.permission !== null && caller === undefined) throw new AppError("unauthenticated", "nobody was let in");
  let gone: AbortSignal | undefined; // most calls never ask for it
  const writing: Promise<void>[] = [];
  const note = (note: Note) => {
    if (caller === undefined) return;
    const written = parts.audit.record(entryOf(caller, note));
    written.catch(() => undefined); // whoever waits for it gets the error
    writing.push(written);
  };
  return {
    ...parseRequest(route, params, request.query, route.raw === undefined ? request.body : bodyPieces(request.body)),
    request,
    requestId: request.id,
    get signal() {
      gone ??= goneSignal(request, reply);
      return gone;
    },
    caller: {
      ...(caller as Caller),
      get gone() {
        gone ??= goneSignal(request, reply);
        return gone;
      },
    },
    report: (error) => report(error, parts.onError),
    note,
    noted: async () => {
      await Promise.all(writing.splice(0));
    },
    countMore: (requests) => spend(parts, (caller as Caller).principal, requests),
    mayAnswer: (bytes) => parts.unread.hasRoom(ownerOf(request), bytes),
    openStream: () => parts.streams.open(caller?.principal.id ?? "", () => request.raw.socket.destroy()),
  };
}

function goneSignal(request: FastifyRequest, reply: FastifyReply | undefined): AbortSignal {
  const controller = new AbortController();
  const source = reply?.raw ?? request.raw.socket;
  const end = () => {
    if (reply === undefined || !reply.raw.writableFinished)
      controller.abort(new AppError("timeout", "the client went away"));
  };
  if (source.destroyed) end();
  else source.once("close", end);
  return controller.signal;
}

function serveSocket(
  route: Route,
  request: FastifyRequest,
  socket: import("ws").WebSocket,
  parts: RegistrarParts,
): void {
  socket.on("error", () => socket.terminate());
  const serve = async () => {
    const call = openCall(route, request, undefined, parts);
    await route.socket?.(call as never, socket);
    await call.noted();
  };
  serve().then(
    () => closeSocket(socket, 1000),
    (error: unknown) => {
      const { code, message } = report(error, parts.onError);
      closeSocket(socket, 4000, Buffer.from(`${code}: ${message}`).subarray(0, 120).toString());
    },
  );
}

/** One that is not read from would never hear the other side's goodbye. */
function closeSocket(socket: import("ws").WebSocket, code: number, reason?: string): void {
  socket.resume();
  socket.close(code, reason);
}
