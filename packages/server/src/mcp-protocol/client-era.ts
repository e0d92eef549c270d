import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";

/** Tells a client of 2026-07-28 from older ones. */
export function isModern({ mcpReq }: ServerContext): boolean {
  return mcpReq.envelope !== undefined;
}

/** Tells whether the client can put a question to its user. */
export function canAsk({ server }: McpServer, context: ServerContext): boolean {
  const envelope = context.mcpReq.envelope as Record<string, unknown> | undefined;
  const declared = isModern(context)
    ? (envelope?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined)
    : server.getClientCapabilities();
  const { elicitation } = declared ?? {};
  // Without a mode it is the form, the only one there was at first.
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}
