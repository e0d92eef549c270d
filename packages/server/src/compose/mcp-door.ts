/** `/mcp` over a service. Loaded when its first client comes: most daemons wait for one, and it takes memory. */
import { type EndpointParts, McpEndpoint } from "../mcp/endpoint.ts";
import { callerOf } from "../mcp-protocol/caller.ts";
import { endSession } from "../tools/session.ts";
import { type McpServersParts, openMcpServers } from "./product-mcp.ts";

type McpDoorParts = McpServersParts & Pick<EndpointParts, "sets">;

export interface McpDoor extends AsyncDisposable {
  endpoint: McpEndpoint;
}

export function openMcpDoor({ sets, ...own }: McpDoorParts): McpDoor {
  const servers = openMcpServers(own, { caller: callerOf });
  const endpoint = new McpEndpoint({
    ...servers,
    sets,
    endSession: (caller, key) => endSession(own.parts.fleet, caller, key),
    onError: own.onError,
  });
  return {
    endpoint,
    [Symbol.asyncDispose]: async () => {
      await endpoint[Symbol.asyncDispose]();
      await servers[Symbol.asyncDispose]();
    },
  };
}
