/** From a request that was let in to the protocol's library, and back. */
import type { ReadableStream } from "node:stream/web";
import type { FastifyRequest } from "fastify";
import type { AppError } from "../core/errors.ts";
import { mcpLimits } from "../mcp-protocol/limits.ts";
import { boundedStream } from "./bounded-stream.ts";
import { NotJson, type Problem } from "./problem.ts";
import type { RouteResponse } from "./route.ts";

/** JSON-RPC 2.0, section 5.1. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const SERVER_ERROR = -32_000;

/** Refusals of the door in the form that clients of the protocol read. */
export function rpcFailure(error: AppError, { type: _type, title: _title, detail, ...data }: Problem): object {
  const code = error instanceof NotJson ? PARSE_ERROR : error.code === "invalid" ? INVALID_REQUEST : SERVER_ERROR;
  return { jsonrpc: "2.0", id: null, error: { code, message: detail, data } };
}

/** The key stays here. */
export function toWebRequest({ method, url, headers, host }: FastifyRequest, signal: AbortSignal): Request {
  const copied = new Headers();
  for (const [name, value] of Object.entries(headers))
    if (typeof value === "string" && name !== "authorization" && name !== "x-api-key") copied.set(name, value);
  return new Request(`http://${host}${url}`, { method, headers: copied, signal });
}

/** Calls `ended` when the client has all of a stream, or is gone. */
export async function toAnswer(
  { method }: FastifyRequest,
  { status, headers, body }: Response,
  ended: () => void,
  mayPush: (bytes: number) => boolean,
): Promise<RouteResponse> {
  const given = { status, headers: Object.fromEntries(headers) };
  if (body === null) {
    ended();
    return given;
  }
  const stream = boundedStream(body as ReadableStream, mcpLimits.unreadBytes, mayPush);
  stream.once("close", ended);
  if (method === "GET" && status === 200) stream.push(": open\n\n"); // its head is sent with its first bytes
  return { ...given, stream };
}
