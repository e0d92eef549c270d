import type { McpServer, ServerEvent } from "@modelcontextprotocol/server";
import { AppError } from "../core/errors.ts";
import { mcpLimits } from "../core/mcp-limits.ts";
import type { Changes } from "./changes.ts";

/** Remembers what a client up to 2025-11-25 subscribes to. */
export function takeSubscriptions({ server }: McpServer): ReadonlySet<string> {
  const uris = new Set<string>();
  if (server.getCapabilities().resources?.subscribe !== true) return uris;
  server.setRequestHandler("resources/subscribe", async ({ params }) => {
    if (!uris.has(params.uri) && uris.size >= mcpLimits.subscriptionsPerSession)
      throw new AppError("limit_exceeded", "too many resources are subscribed to: unsubscribe from some");
    uris.add(params.uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", async ({ params }) => {
    uris.delete(params.uri);
    return {};
  });
  return uris;
}

/** Passes changes on to a client with a connection of its own. Returns what ends that. */
export function followChanges(
  { server }: McpServer,
  changes: Changes,
  namespace: string,
  wants: (uri: string) => boolean,
): () => void {
  const has = server.getCapabilities();
  const pass = (event: ServerEvent): Promise<void> | undefined => {
    if (event.kind === "resource_updated")
      return wants(event.uri) ? server.sendResourceUpdated({ uri: event.uri }) : undefined;
    if (event.kind === "tools_list_changed") return has.tools && server.sendToolListChanged();
    if (event.kind === "prompts_list_changed") return has.prompts && server.sendPromptListChanged();
    return has.resources && server.sendResourceListChanged();
  };
  // A client that is gone is told nothing; its session ends by itself.
  return changes.as(namespace, () => changes.subscribe((event) => void pass(event)?.catch(() => undefined)));
}
