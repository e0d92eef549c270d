import { report } from "../http/problem.ts";
import { productOffers } from "../mcp/offers.ts";
import { openMcp } from "../mcp/open-mcp.ts";
import type { McpClient, McpParts, ServerParts } from "../mcp/server.ts";
import { Changes } from "../mcp-protocol/changes.ts";
import type { Follow } from "../mcp-protocol/follow-changes.ts";
import { toolsOf } from "../tools/tools.ts";

export interface McpServersParts extends Pick<McpParts, "parts" | "traces" | "version"> {
  onError: (error: unknown) => void;
}

export interface McpServers extends ServerParts, AsyncDisposable {
  changes: Changes;
  follow: Follow;
}

/** Opens the parts of the product's MCP servers, for clients over HTTP and over standard streams. */
export function openMcpServers({ onError, ...parts }: McpServersParts, client: Pick<McpClient, "caller">): McpServers {
  const changes = new Changes();
  const mcp = openMcp({ toolsOf, report: (error) => report(error, onError), ...parts }, client, changes);
  return {
    version: parts.version,
    offers: productOffers(mcp),
    verify: mcp.calls.verify,
    changes,
    follow: mcp.follow,
    [Symbol.asyncDispose]: () => mcp[Symbol.asyncDispose](),
  };
}
