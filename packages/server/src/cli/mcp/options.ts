import { AppError } from "../../core/errors.ts";
import { formatOptions, type OptionSpecs, parseOptions } from "../options.ts";
import { configOption, helpOption } from "../report-options.ts";

const tools = {
  type: "string",
  value: "SETS",
  help: "tool sets to serve, separated by commas: core,files, or all (default: core)",
} as const;

const server = {
  type: "string",
  value: "SERVER",
  help: "pass messages to this hosted server, by id or name, instead of serving Caisson's own tools",
} as const;

export const mcpOptionSpecs = { tools, server, config: configOption, help: helpOption } as const satisfies OptionSpecs;

export const serveOptionSpecs = {
  transport: { type: "string", short: "t", value: "KIND", help: "stdio, or http to start the daemon (default: stdio)" },
  port: { type: "string", value: "N", help: "with --transport http: port to listen on (default: the setting port)" },
  tools: { ...tools, help: "tool sets to serve, separated by commas: core,files (default: all)" },
  config: configOption,
  help: helpOption,
} as const satisfies OptionSpecs;

export interface McpPlan {
  transport: "stdio" | "http";
  tools?: readonly string[];
  /** Hosted server to pass messages to. */
  server?: string;
  configFile?: string;
  /** Unparsed; checked like CAISSON_PORT. */
  port?: string;
}

/** Parses `caisson mcp` and `caisson serve`; undefined when --help is given. */
export function parseMcp(args: readonly string[], specs: OptionSpecs): McpPlan | undefined {
  const options = parseOptions(args, specs);
  if (options.flag("help")) return undefined;
  if ("transport" in specs) checkServe(options.text("transport"), options.text("port"));
  const [extra] = options.rest;
  if (extra !== undefined) throw new AppError("invalid", `unexpected argument '${extra}'`, { hint: "see --help" });
  const [named, configFile] = [options.text("tools"), options.text("config")];
  const server = "server" in specs ? options.text("server") : undefined;
  if (server !== undefined && named !== undefined)
    throw new AppError("invalid", "--server and --tools exclude each other", {
      hint: "a hosted server has its own tools",
    });
  const port = options.text("port");
  return {
    transport: options.text("transport") === "http" ? "http" : "stdio",
    ...(named === undefined ? {} : { tools: named.split(",") }),
    ...(server === undefined ? {} : { server }),
    ...(configFile === undefined ? {} : { configFile }),
    ...(port === undefined ? {} : { port }),
  };
}

/** Refuses an unsupported transport, with a command that works as the hint. */
function checkServe(transport: string | undefined, port: string | undefined): void {
  const line = `caisson serve --transport http${port === undefined ? "" : ` --port ${port}`}`;
  if (transport === "sse")
    throw new AppError("invalid", "unsupported transport 'sse': MCP replaced it with HTTP", {
      hint: `${line} (clients since 2025 support it, at /mcp)`,
    });
  if (transport !== undefined && transport !== "stdio" && transport !== "http")
    throw new AppError("invalid", `unknown transport '${transport}'`, { hint: "--transport stdio|http" });
  if (port !== undefined && transport !== "http")
    throw new AppError("invalid", "--port requires --transport http", { hint: line });
}

export function mcpHelpText(): string {
  return `usage: caisson mcp [OPTIONS]
       caisson mcp install [OPTIONS] claude-desktop|claude-code|cursor|vscode

Serves MCP (Model Context Protocol) on standard input and output, for the client that starts it. Uses the daemon of this
data folder, or the one that CAISSON_URL and CAISSON_API_KEY select. If no daemon is running, starts its own sandboxes and
destroys them on exit.

With --server, connects a client that can only start commands to a hosted server; caisson servers connect prints its configuration.

${formatOptions(mcpOptionSpecs)}
`;
}

export function serveHelpText(): string {
  return `usage: caisson serve [OPTIONS]

Serves MCP (Model Context Protocol) with all tools: on standard input and output like caisson mcp, or over HTTP like
caisson up. --tools, or the setting mcp.tools, selects fewer tools.

${formatOptions(serveOptionSpecs)}
`;
}
