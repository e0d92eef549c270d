import { randomBytes } from "node:crypto";
import websocket from "@fastify/websocket";
import fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import type { Audit } from "../core/audit.ts";
import type { AppError } from "../core/errors.ts";
import type { Feed } from "../core/feed.ts";
import type { Fleet } from "../core/fleet.ts";
import type { IdempotencyRecords } from "../core/idempotency.ts";
import { httpLimits, identityLimits } from "../core/limits.ts";
import type { Signer } from "../core/manifest.ts";
import type { RunRecord } from "../core/run-record.ts";
import type { Keyring } from "../identity/keyring.ts";
import { OneTimeTokens } from "../identity/one-time-tokens.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { allowedMethods } from "./allowed-methods.ts";
import { archiveRoutes } from "./archive.ts";
import { artifactRoutes } from "./artifacts.ts";
import { auditRoutes, type ToOcsf } from "./audit.ts";
import { contextRoutes } from "./contexts.ts";
import { documentRoutes } from "./documents.ts";
import { checkHost, checkOrigin } from "./door.ts";
import { eventRoutes } from "./events.ts";
import { execRoutes } from "./exec.ts";
import { fileRoutes } from "./files.ts";
import { folderRoutes } from "./folders.ts";
import { setHeaders } from "./headers.ts";
import { healthRoutes, type Readiness } from "./health.ts";
import { Idempotency } from "./idempotency.ts";
import { keyRoutes } from "./keys.ts";
import { OpenStreams } from "./open-streams.ts";
import { placeRoutes, type ShownSetting } from "./place.ts";
import { HttpError, problemType, toAppError, toProblem } from "./problem.ts";
import { processRoutes } from "./processes.ts";
import { type RegistrarParts, register } from "./register.ts";
import type { Route } from "./route.ts";
import { runRoutes } from "./runs.ts";
import { sandboxRoutes } from "./sandboxes.ts";
import { searchRoutes } from "./search.ts";
import { setupRoutes } from "./setup.ts";
import { signedUrlRoutes } from "./signed-urls.ts";
import { type Ticket, terminalRoutes } from "./terminal.ts";
import { TokenBuckets } from "./token-bucket.ts";

export interface HttpParts {
  fleet: Fleet<Sandbox>;
  keyring: Keyring;
  audit: Audit;
  feed: Feed;
  idempotency: IdempotencyRecords;
  /** The records of a sandbox's runs, oldest first. */
  runs: (sandboxId: string) => Promise<RunRecord[]>;
  /** Who signs manifests. */
  signer: () => Promise<Signer>;
  settings: () => ShownSetting[];
  toOcsf?: ToOcsf | undefined;
  ready: Readiness;
  version: string;
  /** Names beside those of loopback by which it may be called, and origins whose pages may call it. */
  hosts?: readonly string[];
  origins?: readonly string[];
  rate?: { perSecond: number; burst: number };
  streamsPerKey?: number;
  /** Routes of other domains. */
  routes?: readonly Route[];
  /** Told of errors that are nobody's fault outside. */
  onError?: (error: unknown) => void;
}

export interface HttpApp {
  app: FastifyInstance;
  /** Everything it answers, as data. */
  routes: readonly Route[];
  /** A link that shows an administrator's key, once: its path and query. */
  issueSetupLink(): string;
}

/** The REST API. It listens nowhere by itself. */
export function createHttpApp(parts: HttpParts): HttpApp {
  const links = new OneTimeTokens<"setup">({ lifetimeMs: identityLimits.setupLinkMs, most: identityLimits.setupLinks });
  const tickets = new OneTimeTokens<Ticket>({ lifetimeMs: identityLimits.ticketMs, most: identityLimits.tickets });
  const streams = new OpenStreams(parts.streamsPerKey ?? httpLimits.streamsPerKey.default);
  const routes: Route[] = [
    ...sandboxRoutes(parts.fleet),
    ...execRoutes(parts.fleet),
    ...fileRoutes(parts.fleet),
    ...folderRoutes(parts.fleet),
    ...searchRoutes(parts.fleet),
    ...archiveRoutes(parts.fleet),
    ...signedUrlRoutes({
      fleet: parts.fleet,
      keyring: parts.keyring,
      audit: parts.audit,
      openStream: (key) => streams.open(key),
    }),
    ...processRoutes(parts.fleet),
    ...contextRoutes(parts.fleet),
    ...terminalRoutes(parts.fleet, tickets),
    ...runRoutes(parts.fleet, parts.runs),
    ...artifactRoutes(parts.fleet, parts.signer),
    ...eventRoutes(parts.feed),
    ...auditRoutes(parts.audit, parts.toOcsf),
    ...keyRoutes(parts.keyring, parts.feed),
    ...placeRoutes(parts),
    ...(parts.routes ?? []),
    ...healthRoutes(parts.ready),
    ...setupRoutes({ keyring: parts.keyring, audit: parts.audit, links }),
    ...documentRoutes(() => routes, parts.version),
  ];
  const app = openFastify(parts, routes);
  registerAll(app, routes, {
    keyring: parts.keyring,
    audit: parts.audit,
    buckets: new TokenBuckets({
      perSecond: parts.rate?.perSecond ?? httpLimits.requestsPerSecond.default,
      burst: parts.rate?.burst ?? httpLimits.requestBurst.default,
      most: httpLimits.buckets,
    }),
    streams,
    idempotency: new Idempotency(parts.idempotency),
    redeemTicket: (token, path) => {
      const ticket = tickets.redeem(token);
      return ticket?.path === path ? ticket.principal : undefined;
    },
  });
  return { app, routes, issueSetupLink: () => `/setup?token=${links.issue("setup").token}` };
}

function openFastify({ hosts = [], origins = [], onError }: HttpParts, routes: readonly Route[]): FastifyInstance {
  const fail = (error: unknown, requestId: string, reply: FastifyReply) => {
    const known = toAppError(error);
    if (known.code === "internal") onError?.(known.cause ?? known);
    return sendProblem(reply, known, requestId);
  };
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    genReqId: () => `req_${randomBytes(9).toString("base64url")}`,
    bodyLimit: httpLimits.jsonBytes,
    keepAliveTimeout: httpLimits.keepAliveMs,
    routerOptions: { maxParamLength: 8_192 },
    http: { maxHeaderSize: httpLimits.headerBytes, headersTimeout: httpLimits.headersTimeoutMs },
    frameworkErrors: (error, request, reply) => {
      setHeaders(reply, request.id);
      fail(error, request.id, reply);
    },
    clientErrorHandler: refuseBadHttp,
  });
  app.server.maxConnections = httpLimits.connections;
  app.addHook("onRequest", async (request, reply) => {
    setHeaders(reply, request.id);
    checkHost(request.headers.host, hosts);
    checkOrigin(request, origins);
  });
  // A connection that asked for a WebSocket and got an ordinary answer is nobody's afterwards.
  app.addHook("onResponse", async (request) => {
    if (request.headers.upgrade !== undefined) request.raw.socket.destroy();
  });
  app.setErrorHandler((error, request, reply) => fail(error, request.id, reply));
  app.setNotFoundHandler((request, reply) => {
    const allow = allowedMethods(routes, request.url.split("?")[0] ?? "");
    if (allow.length === 0)
      throw new HttpError(404, "not_found", "there is nothing at this path", { hint: "GET /docs" });
    return fail(
      new HttpError(405, "unsupported", `${request.method} is not for this path`, {
        headers: { allow: allow.join(", ") },
      }),
      request.id,
      reply,
    );
  });
  return app;
}

/** Routes that take raw bodies have a scope of their own, in which no body is parsed. */
function registerAll(app: FastifyInstance, routes: readonly Route[], parts: RegistrarParts): void {
  app.register(websocket, { options: { maxPayload: httpLimits.terminalMessageBytes, perMessageDeflate: false } });
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    const parseJson = scope.getDefaultJsonParser("error", "error");
    scope.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
      if (body === "") done(null, undefined);
      else parseJson(request, body as string, done);
    });
    for (const route of routes) if (route.raw === undefined) register(scope, route, parts);
  });
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
    for (const route of routes) if (route.raw !== undefined) register(scope, route, parts);
  });
}

function sendProblem(reply: FastifyReply, error: AppError, requestId: string): FastifyReply {
  const problem = toProblem(error, requestId);
  if (error instanceof HttpError) for (const [name, value] of Object.entries(error.headers)) reply.header(name, value);
  if (problem.retry_after !== undefined) reply.header("retry-after", problem.retry_after);
  if (problem.status === 401) reply.header("www-authenticate", 'Bearer realm="caisson"');
  return reply.status(problem.status).type(problemType).send(JSON.stringify(problem));
}

/** What is not HTTP at all never becomes a request. */
function refuseBadHttp(error: Error & { code?: string }, socket: import("node:net").Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed || !socket.writable) return void socket.destroy();
  const tooLong = error.code === "HPE_HEADER_OVERFLOW";
  const status = tooLong ? "431 Request Header Fields Too Large" : "400 Bad Request";
  const body = JSON.stringify({
    type: "urn:caisson:error:invalid",
    title: "The request is not valid",
    status: tooLong ? 431 : 400,
    detail: tooLong ? "the headers are too long" : "this is not HTTP",
    code: "invalid",
    request_id: "none",
  });
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: ${problemType}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
