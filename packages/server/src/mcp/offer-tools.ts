import type { ListToolsResult, McpServer, ServerContext } from "@modelcontextprotocol/server";
import { isAllowed } from "../core/scope.ts";
import { toProtocolError } from "../mcp-protocol/protocol-error.ts";
import type { Tool } from "../tools/tool.ts";
import { unknownTool } from "../tools/tool-sets.ts";
import { knownInput, knownSchema } from "./known-schema.ts";
import type { McpClient, McpParts, Offer } from "./server.ts";

/** The tools of the sets that a client asked for. */
export function offerTools(mcp: McpParts): Offer {
  return (server, client) => {
    const offered = mcp.toolsOf(client.sets);
    wrapHandlers(server, offered, client);
    for (const tool of offered) {
      const { name, title, description, input, output, hints } = tool;
      server.registerTool(
        name,
        {
          title,
          description,
          inputSchema: knownInput(input),
          outputSchema: knownSchema(output),
          annotations: { title, ...hints },
        },
        (given: unknown, context: ServerContext) => mcp.calls.call(mcp, { server, client, tool }, given, context),
      );
    }
  };
}

type Handle = (request: { params: { name: string } }, context: ServerContext) => unknown;

/**
 * Sets the library's handlers behind two of our own: its answer to a tool that this client does not have names no set, and
 * its list has tools that the caller's scopes do not allow.
 */
function wrapHandlers({ server }: McpServer, offered: readonly Tool[], client: McpClient): void {
  const set = server.setRequestHandler.bind(server) as (method: string, handle: Handle) => void;
  const wraps: Readonly<Record<string, (handle: Handle) => Handle>> = {
    "tools/call": (handle) => (request, context) => {
      const { name } = request.params;
      if (offered.some((tool) => tool.name === name)) return handle(request, context);
      throw toProtocolError(unknownTool(name, client.sets));
    },
    "tools/list": (handle) => async (request, context) => {
      const listed = (await handle(request, context)) as ListToolsResult;
      const { principal } = client.caller(context);
      const mayCall = new Set(offered.filter(({ scope }) => isAllowed(principal, scope)).map(({ name }) => name));
      return { ...listed, tools: listed.tools.filter(({ name }) => mayCall.has(name)) };
    },
  };
  const wrapped = (method: string, handle: Handle) => set(method, wraps[method]?.(handle) ?? handle);
  server.setRequestHandler = wrapped as typeof server.setRequestHandler;
}
