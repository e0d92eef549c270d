import type { McpServer, ServerContext } from "@modelcontextprotocol/server";
import { toProtocolError } from "../mcp-protocol/protocol-error.ts";
import type { Tool } from "../tools/tool.ts";
import { unknownTool } from "../tools/tool-sets.ts";
import { knownInput, knownSchema } from "./known-schema.ts";
import type { McpClient, McpParts, Offer } from "./server.ts";

/** The tools of the sets that a client asked for. */
export function offerTools(mcp: McpParts): Offer {
  return (server, client) => {
    const offered = mcp.toolsOf(client.sets);
    answerUnknown(server, offered, client);
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

/** The library's own answer to a tool that this client does not have names no set. So its handler is set behind one that does. */
function answerUnknown({ server }: McpServer, offered: readonly Tool[], { sets }: McpClient): void {
  const set = server.setRequestHandler.bind(server) as (method: string, handle: Handle) => void;
  const guard =
    (handle: Handle): Handle =>
    (request, context) => {
      const { name } = request.params;
      if (offered.some((tool) => tool.name === name)) return handle(request, context);
      throw toProtocolError(unknownTool(name, sets));
    };
  const wrapped = (method: string, handle: Handle) => set(method, method === "tools/call" ? guard(handle) : handle);
  server.setRequestHandler = wrapped as typeof server.setRequestHandler;
}
