import { answerCompletions } from "./completions.ts";
import { offerTools } from "./offer-tools.ts";
import { registerPrompts } from "./prompts/prompts.ts";
import { registerResources } from "./resources/resources.ts";
import type { McpParts, Offer } from "./server.ts";

/** No list changes while a client is connected. */
const capabilities = {
  tools: { listChanged: false },
  resources: { subscribe: true, listChanged: false },
  prompts: { listChanged: false },
  completions: {},
};

/** All that the product has for agents. */
export function productOffers(mcp: McpParts): Offer[] {
  return [
    ({ server }) => server.registerCapabilities(capabilities),
    offerTools(mcp),
    (server, client) => registerResources(server, mcp, client),
    (server) => registerPrompts(server),
    (server, client) => answerCompletions(server, mcp, client),
  ];
}
