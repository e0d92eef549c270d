import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import websocket from "@fastify/websocket";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { AppError } from "../core/errors.ts";
import { networkList } from "../lib/network-list.ts";
import { randomId } from "../lib/random-id.ts";
import { allowedMethods } from "./allowed-methods.ts";
import { calledAs } from "./called-as.ts";
import { contextOf } from "./context-of.ts";
import { allowOrigin, checkHosts, checkOrigin } from "./door.ts";
import { endSocket } from "./end-socket.ts";
import { commonHeaders, setHeaders } from "./headers.ts";
import { httpLimits } from "./limits.ts";
import { HttpError, problemType, report, toProblem } from "./problem.ts";
import { type RegistrarParts, register } from "./register.ts";
import { discardRest, isUnread, watchBody } from "./request-body.ts";
import type { Route } from "./route.ts";

const newRequestId = () => `req_${randomId(9, "base64url")}`;

export interface FastifyParts {
  /** Names beside those of loopback by which it may be called, and origins whose pages may call it. */
  hosts?: readonly string[];
  origins?: readonly string[];
  /** Origin of the links that this server returns; it may be called by that name. If unset, links are paths. */
  publicUrl?: string | null;
  /** Proxies whose word on scheme and host name counts. */
  trustedProxies?: readonly string[];
  /** How long the headers of a request may take. */
  headersTimeoutMs?: number;
  /** Told of errors that are nobody's fault outside. */
  onError?: (error: unknown) => void;
}

/** Fastify with what holds for every request, known or not: headers, doors, problems. */
export function openFastify(parts: FastifyParts, routes: readonly Route[]): FastifyInstance {
  const { origins = [], headersTimeoutMs = httpLimits.headersTimeoutMs, onError } = parts;
  const own = parts.publicUrl == null ? [] : [new URL(parts.publicUrl)];
  const hosts = [...(parts.hosts ?? []), ...own.map(({ hostname }) => hostname)];
  const pages = [...origins, ...own.map(({ origin }) => origin)];
  const isProxy = networkList(parts.trustedProxies ?? []);
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply, failure?: Route["failure"]) =>
    sendProblem(reply, report(error, onError, contextOf(request)), request.id, failure);
  const methodsOf = (url: string) => allowedMethods(routes, url.split("?")[0] ?? "").join(", ");
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    genReqId: newRequestId,
    keepAliveTimeout: httpLimits.keepAliveMs,
    routerOptions: { maxParamLength: 8_192 },
    http: {
      maxHeaderSize: httpLimits.headerBytes,
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: headersTimeoutMs / 2,
    },
    frameworkErrors: (error, request, reply) => {
      setHeaders(reply, request.id);
      fail(error, request, reply);
    },
    clientErrorHandler: refuseBadHttp,
  });
  app.removeAllContentTypeParsers();
  app.server.maxConnections = httpLimits.connections;
  app.server.on("checkExpectation", refuseExpectation);
  app.server.on("connect", (_request, socket) => {
    answerOn(socket, new HttpError(405, "unsupported", "this is no proxy: CONNECT is not taken"));
  });
  app.addHook("onRequest", (request, reply, done) => {
    const { upgrade, origin } = request.headers;
    const called = calledAs(request.raw, isProxy);
    setHeaders(reply, request.id);
    if (upgrade !== undefined) reply.header("connection", "close");
    checkHosts(called, hosts);
    checkOrigin(origin, called, pages);
    allowOrigin(request, reply, origins);
    const allow = request.method === "OPTIONS" ? methodsOf(request.url) : "";
    if (allow === "" && request.is404) throw noRoute(request, methodsOf(request.url)); // before Fastify looks for a body
    if (allow === "") done();
    else reply.status(204).header("allow", allow).send();
  });
  // A connection that asked for a WebSocket and got an ordinary answer is nobody's afterwards.
  app.addHook("onResponse", (request, _reply, done) => {
    if (request.headers.upgrade !== undefined) request.raw.socket.destroy();
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    const { failure } = request.routeOptions.config as Pick<Route, "failure">;
    return fail(error, request, reply, failure);
  });
  app.setNotFoundHandler((request) => {
    throw noRoute(request, methodsOf(request.url));
  });
  return app;
}

function noRoute({ method }: FastifyRequest, allow: string): HttpError {
  if (allow === "") return new HttpError(404, "not_found", "unknown path", { hint: "GET /docs" });
  return new HttpError(405, "unsupported", `${method} is not for this path`, { headers: { allow } });
}

/** Registers the routes. The parser passes each body on as a stream: JSON routes read it in a hook, raw ones in their handler. */
export function registerAll(app: FastifyInstance, routes: readonly Route[], parts: RegistrarParts): void {
  app.addContentTypeParser("*", (_request, payload, done) => {
    watchBody(payload, parts.bodyIdleMs);
    done(null, payload);
  });
  const scopeOf = (chosen: readonly Route[]) => async (scope: FastifyInstance) => {
    for (const route of chosen) register(scope, route, parts);
  };
  // Before the plugin: it answers every upgrade of routes that come after it.
  app.register(scopeOf(routes.filter(({ takesOver }) => takesOver)));
  app.register(websocket, {
    options: { maxPayload: httpLimits.terminalMessageBytes, perMessageDeflate: false },
    // A client that does not say goodbye holds nothing up.
    preClose: (done) => {
      for (const client of app.websocketServer.clients) client.terminate();
      app.websocketServer.close();
      done();
    },
  });
  app.register(scopeOf(routes.filter(({ takesOver }) => !takesOver)));
}

function sendProblem(
  reply: FastifyReply,
  error: AppError,
  requestId: string,
  failure?: Route["failure"],
): FastifyReply {
  const problem = toProblem(error, requestId);
  if (error instanceof HttpError) for (const [name, value] of Object.entries(error.headers)) reply.header(name, value);
  if (problem.retry_after !== undefined) reply.header("retry-after", problem.retry_after);
  if (problem.status === 401) reply.header("www-authenticate", 'Bearer realm="caisson"');
  reply.status(problem.status);
  const text = JSON.stringify(failure === undefined ? problem : failure(error, problem));
  reply.type(failure === undefined ? problemType : "application/json");
  return isUnread(reply.request.raw) ? sendBeforeRest(reply, text) : reply.send(text);
}

/** Most clients read no answer before they have sent their body: it is read on, up to its bounds, and the connection closed after. */
function sendBeforeRest(reply: FastifyReply, text: string): FastifyReply {
  const { raw, request } = reply;
  reply.hijack();
  raw.statusCode = reply.statusCode;
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
  raw.setHeader("content-length", Buffer.byteLength(text));
  raw.write(text);
  discardRest(request.raw, () => raw.end());
  return reply;
}

/** Nothing but `100-continue` may be expected; such a request never reaches a route. */
function refuseExpectation(request: IncomingMessage, response: ServerResponse): void {
  const id = newRequestId();
  const error = new HttpError(417, "unsupported", "this expectation cannot be met", { hint: "send no Expect header" });
  response.writeHead(417, { ...commonHeaders, "x-request-id": id, "content-type": problemType, connection: "close" });
  response.end(request.method === "HEAD" ? undefined : JSON.stringify(toProblem(error, id)));
}

const badHttp: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, "the headers are too long"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "the headers did not come in time"],
};

/** What is not HTTP at all never becomes a request. */
function refuseBadHttp(error: Error & { code?: string }, socket: import("node:net").Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed || !socket.writable) return void socket.destroy();
  const [status, detail] = badHttp[error.code ?? ""] ?? ([400, "this is not HTTP"] as const);
  answerOn(socket, new HttpError(status, "invalid", detail));
}

function answerOn(socket: Duplex, error: HttpError): void {
  const { status } = error;
  const body = JSON.stringify(toProblem(error, "none"));
  endSocket(
    socket,
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: ${problemType}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
