/** `/mcp` over a service. Loaded when its first client comes: most daemons wait for one, and it takes memory. */
import { type EndpointParts, McpEndpoint } from "../mcp/endpoint.ts";
import { productOffers } from "../mcp/offers.ts";
import { openMcp } from "../mcp/open-mcp.ts";
import type { McpParts } from "../mcp/server.ts";
import { callerOf } from "../mcp-protocol/caller.ts";
import { Changes } from "../mcp-protocol/changes.ts";
import { endSession } from "../tools/session.ts";
import { toolsOf } from "../tools/tools.ts";

type McpDoorParts = Pick<McpParts, "parts" | "version" | "report" | "traces"> & Pick<EndpointParts, "sets" | "onError">;

export interface McpDoor extends AsyncDisposable {
  endpoint: McpEndpoint;
}

export function openMcpDoor({ sets, onError, ...own }: McpDoorParts): McpDoor {
  const changes = new Changes();
  const mcp = openMcp({ toolsOf, ...own }, { caller: callerOf }, changes);
  const endpoint = new McpEndpoint({
    version: own.version,
    offers: productOffers(mcp),
    verify: mcp.calls.verify,
    changes,
    follow: mcp.follow,
    sets,
    endSession: (caller, key) => endSession(own.parts.fleet, caller, key),
    onError,
  });
  return {
    endpoint,
    [Symbol.asyncDispose]: async () => {
      await endpoint[Symbol.asyncDispose]();
      await mcp[Symbol.asyncDispose]();
    },
  };
}
