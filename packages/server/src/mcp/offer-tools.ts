import type { ServerContext } from "@modelcontextprotocol/server";
import { knownInput, knownSchema } from "./known-schema.ts";
import type { McpParts, Offer } from "./server.ts";

/** The tools of the sets that a client asked for. */
export function offerTools(mcp: McpParts): Offer {
  return (server, client) => {
    for (const tool of mcp.toolsOf(client.sets)) {
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
