import type { ReadableStream } from "node:stream/web";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import type { AppError } from "../core/errors.ts";
import { jsonLimits } from "../core/json-limits.ts";
import type { McpEndpoint } from "../mcp/endpoint.ts";
import { mcpLimits } from "../mcp-protocol/limits.ts";
import { fleetLimits } from "../sandboxes/fleet/limits.ts";
import { mcpMessage } from "../schemas/mcp-message.ts";
import { listOf } from "../schemas/written.ts";
import { toolSets } from "../tools/tool.ts";
import { boundedStream } from "./bounded-stream.ts";
import { NotJson, type Problem } from "./problem.ts";
import { type Call, defineRoute, type Route, type RouteResponse } from "./route.ts";

const path = "/mcp";
const tag = "mcp";
const media = ["application/json", "text/event-stream"];
const query = z.strictObject({
  tools: listOf(z.enum([...toolSets, "all"]))
    .optional()
    .describe("tool sets to serve, such as `core,files`; or all"),
  session: z
    .string()
    .min(1)
    .max(fleetLimits.sessionKeyChars)
    .optional()
    .describe("session of tool calls that name none (default: the client's own)"),
});
/** JSON-RPC 2.0, section 5.1. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const SERVER_ERROR = -32_000;

/** Refusals of the door in the form that clients of the protocol read. */
function failure(error: AppError, { type: _type, title: _title, detail, ...data }: Problem): object {
  const code = error instanceof NotJson ? PARSE_ERROR : error.code === "invalid" ? INVALID_REQUEST : SERVER_ERROR;
  return { jsonrpc: "2.0", id: null, error: { code, message: detail, data } };
}

/** The Model Context Protocol, for clients of both its eras. */
export function mcpRoutes(endpoint: Pick<McpEndpoint, "handle">): Route[] {
  const problems = [404, 405, 406, 422, 504]; // of the protocol, of sessions, and of tools
  const shared = { path, tag, scope: "read", audit: "tools", query, failure, problems } as const;
  const handler = async (call: Call<undefined, unknown, unknown>): Promise<RouteResponse> => {
    const { request, caller, signal, body } = call;
    if (Array.isArray(body) && body.length > 1) call.countMore(body.length - 1);
    const release = call.openStream();
    try {
      const { response, done } = await endpoint.handle(toWebRequest(request, signal), caller, body);
      const ended = () => {
        done?.();
        release();
      };
      return await toAnswer(response, ended, call.mayAnswer);
    } catch (error) {
      release();
      throw error;
    }
  };
  return [
    defineRoute({
      ...shared,
      method: "POST",
      summary: "Handles a message of the Model Context Protocol",
      body: mcpMessage,
      bodyBytes: mcpLimits.messageBytes,
      bodyShape: jsonLimits.data,
      responses: {
        200: { description: "the response, or a stream that ends with it", media },
        202: { description: "the message is accepted" },
      },
      handler,
    }),
    defineRoute({
      ...shared,
      method: "GET",
      summary: "Streams messages of the server in a session (protocol versions up to 2025-11-25)",
      responses: { 200: { description: "messages of the server", media: ["text/event-stream"] } },
      handler,
    }),
    defineRoute({
      ...shared,
      method: "DELETE",
      summary: "Ends a session (protocol versions up to 2025-11-25)",
      responses: { 200: { description: "the session has ended" } },
      handler,
    }),
  ];
}

function toWebRequest({ method, url, headers, host }: FastifyRequest, signal: AbortSignal): Request {
  const copied = new Headers();
  for (const [name, value] of Object.entries(headers))
    if (typeof value === "string" && name !== "authorization" && name !== "x-api-key") copied.set(name, value);
  return new Request(`http://${host}${url}`, { method, headers: copied, signal });
}

/** What streams is over when its client has it all, or is gone. */
async function toAnswer(
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
  return { ...given, stream };
}
