import { z } from "zod";
import { jsonLimits } from "../core/json-limits.ts";
import { mayReachServer } from "../core/scope.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { gatewayLimits } from "../gateway/limits.ts";
import { hostedMessage } from "../schemas/mcp-message.ts";
import { exchangeRoutes } from "./mcp-exchange.ts";
import type { Route } from "./route.ts";

const params = z.strictObject({ id: z.string().min(1).max(64).describe("id of a hosted MCP server") });

/** The endpoint of each hosted MCP server, for keys that may reach it (S130). */
export function serverGatewayRoutes(gateway: Pick<Gateway, "handle">): Route[] {
  return exchangeRoutes<typeof params>({
    shared: {
      path: "/sandbox/{id}/mcp",
      tag: "servers",
      scope: "use",
      allows: (principal, { id = "" }) => mayReachServer(principal, id),
      audit: "tools",
      params,
      problems: [404, 405, 406, 409, 422, 429, 503, 504], // of the protocol, of sessions, of servers that do not start
    },
    summaries: {
      POST: "Passes a message of the Model Context Protocol to a hosted server",
      GET: "Streams messages of a hosted server in a session (protocol versions up to 2025-11-25)",
      DELETE: "Ends a session at a hosted server (protocol versions up to 2025-11-25)",
    },
    message: {
      body: hostedMessage,
      bodyBytes: gatewayLimits.messageBytes,
      bodyShape: { ...jsonLimits.data, depth: gatewayLimits.depth },
      bodyStrict: true,
    },
    handle: (request, { params: { id }, caller, body }) => gateway.handle(id, request, caller, body),
  });
}
