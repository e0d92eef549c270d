import { McpServer, type ServerContext } from "@modelcontextprotocol/server";
import type { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";
import type { Tool } from "../tools/tool.ts";
import type { ToolParts } from "../tools/tool-parts.ts";
import { answerCompletions } from "./completions.ts";
import { registerPrompts } from "./prompts/prompts.ts";
import { registerResources } from "./resources/resources.ts";
import type { ToolCalls } from "./tool-calls.ts";
import type { Traces } from "./traces.ts";

export interface McpParts {
  tools: readonly Tool[];
  parts: ToolParts;
  version: string;
  traces: Traces;
  calls: ToolCalls;
  /** Any error as one that may be shown. */
  report: (error: unknown) => AppError;
}

/** Who speaks, and what is theirs where they name nothing. */
export interface McpClient {
  caller(context: ServerContext): Caller;
  session: string;
}

const instructions = [
  "Caisson is your computer: a sealed Linux sandbox whose files last between calls.",
  "Run code with execute_code; put what the user should get into /workspace/output.",
  "The network is closed until a policy or a human opens it: a refusal says which rule decided and how to ask.",
].join(" ");

/** No list changes while a client is connected. */
const capabilities = {
  tools: { listChanged: false },
  resources: { listChanged: false },
  prompts: { listChanged: false },
  completions: {},
  logging: {},
};

/** A server of either era: what it offers is the same. */
export function buildServer(mcp: McpParts, client: McpClient): McpServer {
  const { tools, version, calls } = mcp;
  const server = new McpServer(
    { name: "caisson", title: "Caisson", version },
    { capabilities, instructions, requestState: { verify: calls.verify } },
  );
  for (const tool of tools) {
    const { name, title, description, input, output, hints } = tool;
    server.registerTool(
      name,
      { title, description, inputSchema: input, outputSchema: output, annotations: { title, ...hints } },
      (given: unknown, context: ServerContext) => calls.call(mcp, { server, client, tool }, given, context),
    );
  }
  registerResources(server, mcp, client);
  registerPrompts(server);
  answerCompletions(server, mcp, client);
  return server;
}
