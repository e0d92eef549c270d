import { z } from "zod";
import { jsonLimits } from "../core/json-limits.ts";
import { mayReachServer } from "../core/scope.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { gatewayLimits } from "../gateway/limits.ts";
import { hostedMessage } from "../schemas/mcp-message.ts";
import { rpcFailure, toAnswer, toWebRequest } from "./mcp-exchange.ts";
import { type Call, defineRoute, type Route, type RouteResponse } from "./route.ts";

const media = ["application/json", "text/event-stream"];
const params = z.strictObject({ id: z.string().min(1).max(64).describe("id of a hosted MCP server") });

/** The endpoint of each hosted MCP server, for keys that may reach it (S130). */
export function serverGatewayRoutes(gateway: Pick<Gateway, "handle">): Route[] {
  const shared = {
    path: "/sandbox/{id}/mcp",
    tag: "servers",
    scope: "use",
    allows: (principal, { id = "" }) => mayReachServer(principal, id),
    audit: "tools",
    params,
    failure: rpcFailure,
    // Of the protocol, of sessions, and of servers that do not start.
    problems: [404, 405, 406, 409, 422, 429, 503, 504],
  } as const satisfies Partial<Route>;
  const handler = async (call: Call<{ id: string }, unknown, unknown>): Promise<RouteResponse> => {
    const { request, caller, signal, body } = call;
    const release = call.openStream();
    try {
      const { response, done } = await gateway.handle(call.params.id, toWebRequest(request, signal), caller, body);
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
      summary: "Passes a message of the Model Context Protocol to a hosted server",
      body: hostedMessage,
      bodyBytes: gatewayLimits.messageBytes,
      bodyShape: { ...jsonLimits.data, depth: gatewayLimits.depth },
      bodyStrict: true,
      responses: {
        200: { description: "the response, or a stream that ends with it", media },
        202: { description: "the message is accepted" },
      },
      handler,
    }),
    defineRoute({
      ...shared,
      method: "GET",
      summary: "Streams messages of a hosted server in a session (protocol versions up to 2025-11-25)",
      responses: { 200: { description: "messages of the server", media: ["text/event-stream"] } },
      handler,
    }),
    defineRoute({
      ...shared,
      method: "DELETE",
      summary: "Ends a session at a hosted server (protocol versions up to 2025-11-25)",
      responses: { 200: { description: "the session has ended" } },
      handler,
    }),
  ];
}
