import type { McpServer, ServerEvent } from "@modelcontextprotocol/server";
import { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";
import type { Changes } from "./changes.ts";
import { mcpLimits } from "./limits.ts";

/** Sees to it that changes of a resource are told from then on, if the caller may see it. Resolves with what ends that. */
export type Follow = (caller: Caller, uri: string) => Promise<() => void>;

/** What a client up to 2025-11-25 subscribes to. */
export interface Subscriptions extends Disposable {
  has(uri: string): boolean;
}

export function takeSubscriptions({ server }: McpServer, caller: Caller, follow: Follow): Subscriptions {
  const ends = new Map<string, () => void>();
  const drop = (uri: string) => {
    ends.get(uri)?.();
    ends.delete(uri);
  };
  let closed = false;
  let opening = 0;
  if (server.getCapabilities().resources?.subscribe === true) {
    server.setRequestHandler("resources/subscribe", async ({ params: { uri } }) => {
      if (!ends.has(uri) && ends.size + opening >= mcpLimits.subscriptionsPerSession)
        throw new AppError("limit_exceeded", "too many subscribed resources: unsubscribe from some");
      opening += 1;
      const end = await follow(caller, uri).finally(() => {
        opening -= 1;
      });
      drop(uri);
      if (closed) end();
      else ends.set(uri, end);
      return {};
    });
    server.setRequestHandler("resources/unsubscribe", async ({ params }) => {
      drop(params.uri);
      return {};
    });
  }
  return {
    has: (uri) => ends.has(uri),
    [Symbol.dispose]: () => {
      closed = true;
      for (const uri of [...ends.keys()]) drop(uri);
    },
  };
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
