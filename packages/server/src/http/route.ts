import type { Duplex, Readable } from "node:stream";
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import type { AppError } from "../core/errors.ts";
import type { EventType, Happening } from "../core/journal.ts";
import type { Caller, Principal } from "../core/principal.ts";
import type { Scope } from "../core/scope.ts";
import type { JsonBounds } from "../lib/json-scan.ts";
import type { Problem } from "./problem.ts";

type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What a handler gives back; at most one of `json`, `text`, `stream` and `takeOver`. */
export interface RouteResponse {
  status: number;
  json?: unknown;
  text?: string;
  stream?: Readable;
  /** Takes the connection over, on which nothing was answered yet. */
  takeOver?: (socket: Duplex) => void;
  headers?: Readonly<Record<string, string | number>>;
}

export interface OpenCall<P, Q, B> {
  params: P;
  query: Q;
  body: B;
  request: FastifyRequest;
  requestId: string;
  /** Aborted when the client goes away before it was answered. */
  signal: AbortSignal;
}

export interface Call<P, Q, B> extends OpenCall<P, Q, B> {
  caller: Caller;
  /** Records what the call did, on behalf of its caller. The answer waits for all that was recorded. */
  record(happening: Happening): void;
  /** Resolves when every entry so far would survive a crash. Streams call it before they tell the result. */
  recorded(): Promise<void>;
  /** Any error as one that may be shown, for what fails after the answer has begun. */
  report(error: unknown): AppError;
  /** Counts what came as one request as so many more; refuses past the caller's rate. */
  countMore(requests: number): void;
  /** Counts a response without an end against the caller's share, until it is released. */
  openStream(): () => void;
  /** Whether the caller has read enough of what it was answered before for so many bytes more. */
  mayAnswer(bytes: number): boolean;
}

/** One answer that a route may give. */
export interface ResponseSpec {
  description: string;
  /** Of a JSON body. */
  schema?: z.ZodType;
  /** Of a body that is not JSON, or not only. */
  media?: readonly string[];
  /** Of each message of a stream, where one can be had. */
  messages?: z.ZodType;
  headers?: Readonly<Record<string, string>>;
}

interface RouteBase<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  method: Method;
  /** As in OpenAPI. A last `{path}` takes slashes too. */
  path: string;
  tag: string;
  summary: string;
  params?: P;
  query?: Q;
  body?: B;
  /** The body may be left out. */
  bodyOptional?: boolean;
  /** A body of any bytes, handed on as a stream. With `body` too, JSON is parsed and anything else handed on. */
  raw?: readonly string[];
  /** Lengths that its handler takes of that. */
  rawBytes?: { readonly min: number; readonly max: number };
  bodyBytes?: number;
  /** Limits of a JSON body that holds data of any form. */
  bodyShape?: JsonBounds;
  /** The value of a JSON body is sent on: what two readers may read differently is refused. */
  bodyStrict?: boolean;
  responses: Readonly<Record<number, ResponseSpec>>;
  /** Statuses of its problems beside those that follow from what it is. */
  problems?: readonly number[];
  /** Takes Idempotency-Key. */
  idempotent?: boolean;
  /** An answer may take over a connection that asks for an upgrade; so WebSockets are none of the framework's business here. */
  takesOver?: boolean;
  /** What it answers when it fails, where that is no problem document. */
  failure?: (error: AppError, problem: Problem) => object;
  /** Becomes a WebSocket; `handler` is not called then, `socket` is. */
  socket?: (call: Call<z.output<P>, z.output<Q>, z.output<B>>, socket: import("ws").WebSocket) => Promise<void>;
}

interface AuthorisedRoute<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> extends RouteBase<P, Q, B> {
  scope: Scope;
  /** Decides in place of the scope, for keys that are limited to a part of what it allows. */
  allows?: (principal: Principal, params: Readonly<Record<string, string>>) => boolean;
  /** The types of entries it writes; `fleet` where the use case writes its own, `tools` where a tool does; null for what has no effect. */
  audit: readonly EventType[] | "fleet" | "tools" | null;
  handler: (call: Call<z.output<P>, z.output<Q>, z.output<B>>) => Promise<RouteResponse>;
}

interface OpenRoute<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> extends RouteBase<P, Q, B> {
  /** Anybody may call it; it proves by itself what it must. */
  scope: null;
  handler: (call: OpenCall<z.output<P>, z.output<Q>, z.output<B>>) => Promise<RouteResponse>;
}

type AnyRoute = AuthorisedRoute<z.ZodType, z.ZodType, z.ZodType> | OpenRoute<z.ZodType, z.ZodType, z.ZodType>;

/** A route as the registrar, the OpenAPI document and the authorisation tests see it. */
export type Route = AnyRoute & {
  /** The paths that stand for it in the OpenAPI document, where each has a schema of its own. */
  shownAs?: readonly Route[];
};

type None = z.ZodUndefined;

/** A route for callers with a key. */
export function defineRoute<P extends z.ZodType = None, Q extends z.ZodType = None, B extends z.ZodType = None>(
  route: AuthorisedRoute<P, Q, B>,
): Route {
  return route as unknown as Route;
}

/** A route for anybody. */
export function defineOpenRoute<P extends z.ZodType = None, Q extends z.ZodType = None, B extends z.ZodType = None>(
  route: Omit<OpenRoute<P, Q, B>, "scope">,
): Route {
  return { ...route, scope: null } as unknown as Route;
}
