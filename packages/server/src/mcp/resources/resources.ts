import type { McpServer, ServerContext } from "@modelcontextprotocol/server";
import { requireScope } from "../../core/scope.ts";
import { toProtocolError } from "../../mcp-protocol/protocol-error.ts";
import type { McpClient, McpParts } from "../server.ts";
import { files, filesTemplate, listFiles, readFile } from "./files.ts";
import { logs } from "./logs.ts";
import type { JsonResource, Reading } from "./resource.ts";
import { schemas } from "./schemas.ts";
import { status } from "./status.ts";

const fixed: readonly JsonResource[] = [status, logs, schemas];
const mimeType = "application/json";

export function registerResources(server: McpServer, mcp: McpParts, client: McpClient): void {
  const reading = (context: ServerContext): Reading => {
    const caller = client.caller(context);
    requireScope(caller.principal, "read");
    return { caller, session: client.session, mcp };
  };
  const told = async <T>(context: ServerContext, read: (reading: Reading) => Promise<T>, uri?: string): Promise<T> => {
    try {
      return await read(reading(context));
    } catch (error) {
      throw toProtocolError(mcp.report(error), uri);
    }
  };
  for (const { name, uri, title, description, read } of fixed)
    server.registerResource(name, uri, { title, description, mimeType }, (_, context) =>
      told(context, async (reading) => ({
        contents: [{ uri, mimeType, text: JSON.stringify(await read(reading), null, 2) }],
      })),
    );
  const { name, ...about } = files;
  const template = filesTemplate((context) => told(context, async (own) => ({ resources: await listFiles(own) })));
  server.registerResource(name, template, about, ({ href }, _, context) =>
    told(context, async (own) => ({ contents: [await readFile(own, href)] }), href),
  );
}
