import { z } from "zod";
import { jsonLimits } from "../core/json-limits.ts";
import type { McpEndpoint } from "../mcp/endpoint.ts";
import { mcpLimits } from "../mcp-protocol/limits.ts";
import { fleetLimits } from "../sandboxes/fleet/limits.ts";
import { mcpMessage } from "../schemas/mcp-message.ts";
import { listOf } from "../schemas/written.ts";
import { toolSets } from "../tools/tool.ts";
import { exchangeRoutes } from "./mcp-exchange.ts";
import type { Route } from "./route.ts";

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
  return exchangeRoutes({
    shared: {
      ...{ path: "/mcp", tag: "mcp", scope: "read", audit: "tools", query },
      problems: [404, 405, 406, 422, 504], // of the protocol, of sessions, and of tools
    },
    summaries: {
      POST: "Handles a message of the Model Context Protocol",
      GET: "Streams messages of the server in a session (protocol versions up to 2025-11-25)",
      DELETE: "Ends a session (protocol versions up to 2025-11-25)",
    },
    message: { body: mcpMessage, bodyBytes: mcpLimits.messageBytes, bodyShape: jsonLimits.data },
    handle: async (request, { caller, body, countMore }) => {
      if (Array.isArray(body) && body.length > 1) countMore(body.length - 1);
      return endpoint.handle(request, caller, body);
    },
  });
}
