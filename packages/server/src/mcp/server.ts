import { type LoggingLevel, McpServer, type RequestStateCodec, type ServerContext } from "@modelcontextprotocol/server";
import type { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";
import { mcpLimits } from "../mcp-protocol/limits.ts";
import type { Tool, ToolSet } from "../tools/tool.ts";
import type { ToolParts } from "../tools/tool-parts.ts";
import { moreTools } from "../tools/tool-sets.ts";
import type { ToolCalls } from "./tool-calls.ts";
import type { Traces } from "./traces.ts";

/** Registers what it has with the server of one client: tools, resources, prompts. */
export type Offer = (server: McpServer, client: McpClient) => void;

/** Who speaks, and what is theirs where they name nothing. */
export interface McpClient {
  caller(context: ServerContext): Caller;
  /** The key of their own session. */
  session: string;
  /** The tools they asked for. */
  sets: readonly ToolSet[];
  /** What they want to have logged, from this level on (2025-11-25); nothing unless they say so. */
  logLevel?: LoggingLevel;
}

/** What the product's own offers are made of. */
export interface McpParts {
  toolsOf: (sets: readonly ToolSet[]) => readonly Tool[];
  parts: ToolParts;
  version: string;
  traces: Traces;
  calls: ToolCalls;
  /** Any error as one that may be shown. */
  report: (error: unknown) => AppError;
}

export interface ServerParts {
  version: string;
  offers: readonly Offer[];
  /** Takes back what a client of 2026-07-28 carried for the server, and trusts none that it did not seal. */
  verify: RequestStateCodec["verify"];
}

const instructions = [
  "Caisson is your computer: a sealed Linux sandbox whose files last between calls.",
  "Run code with execute_code; put what the user should get into /workspace/output.",
  "The network is closed until a policy or a human opens it: a refusal says which rule decided and how to ask.",
];

/** Nobody else's cache may hold what one key was answered. */
const list = { ttlMs: mcpLimits.listTtlMs, cacheScope: "private" } as const;

/** A server of either era for one client. */
export function buildServer({ version, offers, verify }: ServerParts, client: McpClient): McpServer {
  const server = new McpServer(
    { name: "caisson", title: "Caisson", version },
    {
      capabilities: { logging: {} },
      cacheHints: { "server/discover": list, "tools/list": list, "prompts/list": list },
      requestState: { verify },
      instructions: [...instructions, ...moreTools(client.sets)].join(" "),
    },
  );
  server.server.setRequestHandler("logging/setLevel", async ({ params }) => {
    client.logLevel = params.level;
    return {};
  });
  for (const offer of offers) offer(server, client);
  return server;
}
