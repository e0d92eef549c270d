/** From a request that was let in to the protocol's library, and back. */
import type { ReadableStream } from "node:stream/web";
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import type { AppError } from "../core/errors.ts";
import { mcpLimits } from "../mcp-protocol/limits.ts";
import { boundedStream } from "./bounded-stream.ts";
import { NotJson, type Problem } from "./problem.ts";
import { type Call, defineRoute, type Route, type RouteResponse } from "./route.ts";

const media = ["application/json", "text/event-stream"];

type KeyRoute<P extends z.ZodType> = Parameters<typeof defineRoute<P, z.ZodType, z.ZodType>>[0];
type ExchangeCall<P extends z.ZodType> = Call<z.output<P>, unknown, unknown>;
type Method = "POST" | "GET" | "DELETE";

interface Exchange<P extends z.ZodType> {
  /** Fields of all three routes. */
  shared: Pick<KeyRoute<P>, "path" | "tag" | "scope" | "allows" | "audit" | "params" | "query" | "problems">;
  summaries: Readonly<Record<Method, string>>;
  /** Shape and bounds of a message. */
  message: Pick<KeyRoute<P>, "body" | "bodyBytes" | "bodyShape" | "bodyStrict">;
  handle: (request: Request, call: ExchangeCall<P>) => Promise<{ response: Response; done?: () => void }>;
}

/** JSON-RPC 2.0, section 5.1. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const SERVER_ERROR = -32_000;

/** Refusals of the door in the form that clients of the protocol read. */
function rpcFailure(error: AppError, { type: _type, title: _title, detail, ...data }: Problem): object {
  const code = error instanceof NotJson ? PARSE_ERROR : error.code === "invalid" ? INVALID_REQUEST : SERVER_ERROR;
  return { jsonrpc: "2.0", id: null, error: { code, message: detail, data } };
}

/** Routes of an MCP endpoint over HTTP, in both versions of the protocol: messages, the stream of a session, and its end. */
export function exchangeRoutes<P extends z.ZodType>({ shared, summaries, message, handle }: Exchange<P>): Route[] {
  const handler = async (call: ExchangeCall<P>): Promise<RouteResponse> => {
    const release = call.openStream();
    try {
      const { response, done } = await handle(toWebRequest(call.request, call.signal), call);
      const ended = () => {
        done?.();
        release();
      };
      return await toAnswer(call.request, response, ended, call.mayAnswer);
    } catch (error) {
      release();
      throw error;
    }
  };
  const route = (method: Method, more: Partial<KeyRoute<P>> & Pick<KeyRoute<P>, "responses">): Route =>
    defineRoute<P, z.ZodType, z.ZodType>({
      ...{ ...shared, failure: rpcFailure, method, summary: summaries[method], handler },
      ...more,
    });
  return [
    route("POST", {
      ...message,
      responses: {
        200: { description: "the response, or a stream that ends with it", media },
        202: { description: "the message is accepted" },
      },
    }),
    route("GET", { responses: { 200: { description: "messages of the server", media: ["text/event-stream"] } } }),
    route("DELETE", { responses: { 200: { description: "the session has ended" } } }),
  ];
}

/** The key stays here. */
function toWebRequest({ method, url, headers, host }: FastifyRequest, signal: AbortSignal): Request {
  const copied = new Headers();
  for (const [name, value] of Object.entries(headers))
    if (typeof value === "string" && name !== "authorization" && name !== "x-api-key") copied.set(name, value);
  return new Request(`http://${host}${url}`, { method, headers: copied, signal });
}

/** Calls `ended` when the client has all of a stream, or is gone. */
async function toAnswer(
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
