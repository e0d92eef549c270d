import type { McpServer } from "@modelcontextprotocol/server";
import { toProtocolError } from "../mcp-protocol/protocol-error.ts";
import { toolLimits } from "../tools/limits.ts";
import { readWorkspaceUri, workspaceTemplate } from "../tools/workspace-uri.ts";
import { listFiles } from "./resources/files.ts";
import type { Reading } from "./resources/resource.ts";
import type { McpClient, McpParts } from "./server.ts";

/** Names of sessions and of their files, as far as somebody has typed them. */
export function answerCompletions({ server }: McpServer, mcp: McpParts, client: McpClient): void {
  server.setRequestHandler("completion/complete", async ({ params }, context) => {
    const { ref, argument, context: typed } = params;
    const none = { completion: { values: [] } };
    if (ref.type !== "ref/resource" || ref.uri !== workspaceTemplate) return none;
    const session = typed?.arguments?.session ?? client.session;
    try {
      const reading = { caller: client.caller(context), session, mcp };
      const found = argument.name === "session" ? await sessions(reading) : await paths(reading);
      const all = found.filter((value) => value.startsWith(argument.value));
      const values = all.slice(0, toolLimits.completions);
      return { completion: { values, total: all.length, hasMore: values.length < all.length } };
    } catch (error) {
      throw toProtocolError(mcp.report(error));
    }
  });
}

async function sessions({ caller, mcp: { parts } }: Reading): Promise<string[]> {
  const found = await parts.fleet.list(caller, { limit: toolLimits.statusRows });
  return found.map(({ id, sessionKey }) => sessionKey ?? id);
}

async function paths(reading: Reading): Promise<string[]> {
  return (await listFiles(reading)).map(({ uri }) => readWorkspaceUri(uri).path);
}
