import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { httpLimits } from "../core/http-limits.ts";
import type { McpEndpoint } from "../mcp/endpoint.ts";
import { type Answer, type Call, defineRoute, type Route } from "./route.ts";

const path = "/mcp";
const tag = "mcp";
const media = ["application/json", "text/event-stream"];

/** The Model Context Protocol, for clients of both its eras. */
export function mcpRoutes(endpoint: McpEndpoint): Route[] {
  const shared = { path, tag, permission: "read", audit: "fleet" } as const;
  const handler = async ({ request, caller, signal, body }: Call<undefined, undefined, unknown>): Promise<Answer> =>
    toAnswer(await endpoint.handle(toWebRequest(request, signal), caller, body));
  return [
    defineRoute({
      ...shared,
      method: "POST",
      summary: "Takes a message of the Model Context Protocol",
      body: z.unknown().meta({ id: "McpMessage" }),
      bodyBytes: httpLimits.codeBodyBytes,
      responses: {
        200: { description: "its answer, or a stream that ends with it", media },
        202: { description: "taken" },
      },
      handler,
    }),
    defineRoute({
      ...shared,
      method: "GET",
      summary: "Streams what the server has to say in a session, to clients up to 2025-11-25",
      responses: { 200: { description: "messages as they come", media: ["text/event-stream"] } },
      handler,
    }),
    defineRoute({
      ...shared,
      method: "DELETE",
      summary: "Ends a session of a client up to 2025-11-25",
      responses: { 200: { description: "it has ended" } },
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

function toAnswer({ status, headers, body }: Response): Answer {
  const given = { status, headers: Object.fromEntries(headers) };
  return body === null ? given : { ...given, stream: Readable.fromWeb(body as ReadableStream) };
}
