import { z } from "zod";
import { jsonLimits } from "../core/json-limits.ts";
import type { McpEndpoint } from "../mcp/endpoint.ts";
import { mcpLimits } from "../mcp-protocol/limits.ts";
import { fleetLimits } from "../sandboxes/fleet/limits.ts";
import { mcpMessage } from "../schemas/mcp-message.ts";
import { listOf } from "../schemas/written.ts";
import { toolSets } from "../tools/tool.ts";
import { rpcFailure, toAnswer, toWebRequest } from "./mcp-exchange.ts";
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
/** The Model Context Protocol, for clients of both its eras. */
export function mcpRoutes(endpoint: Pick<McpEndpoint, "handle">): Route[] {
  const problems = [404, 405, 406, 422, 504]; // of the protocol, of sessions, and of tools
  const shared = { path, tag, scope: "read", audit: "tools", query, failure: rpcFailure, problems } as const;
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
      return await toAnswer(request, response, ended, call.mayAnswer);
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
