/** MCP over a pair of streams, for the one client that they lead to. */
import { type StdioClient, serveClient } from "../mcp/serve-client.ts";
import { Traces } from "../mcp/traces.ts";
import { openMcpServers } from "./product-mcp.ts";
import type { Service } from "./service.ts";
import { toolPartsOf } from "./tool-parts.ts";

export function openStdioDoor(
  service: Service,
  { version, ...client }: StdioClient & { version: string },
): AsyncDisposable {
  const opened = new AsyncDisposableStack();
  const traces = opened.use(new Traces(service.journal));
  const parts = { parts: toolPartsOf(service), traces, version, onError: client.onError };
  const servers = opened.use(openMcpServers(parts, { caller: () => client.caller }));
  opened.use(serveClient(servers, client));
  return opened;
}
