import { AppError } from "../../core/errors.ts";
import { formatOptions, type OptionSpecs, parseOptions } from "../options.ts";
import { configOption, helpOption } from "../report-options.ts";

const tools = {
  type: "string",
  value: "SETS",
  help: "sets of tools, such as core,files, or all (default: core)",
} as const;

export const mcpOptionSpecs = { tools, config: configOption, help: helpOption } as const satisfies OptionSpecs;

export const serveOptionSpecs = {
  transport: { type: "string", short: "t", value: "KIND", help: "stdio (default), or http: the daemon" },
  port: { type: "string", value: "N", help: "with --transport http: the port, in place of the configured one" },
  ...mcpOptionSpecs,
  tools: { ...tools, help: "sets of tools, such as core,files (default: all)" },
} as const satisfies OptionSpecs;

export interface McpPlan {
  transport: "stdio" | "http";
  tools?: readonly string[];
  configFile?: string;
  /** As it was given; checked like CAISSON_PORT. */
  port?: string;
}

/** Of `caisson mcp` and `caisson serve`; undefined when help was asked for. */
export function parseMcp(args: readonly string[], specs: OptionSpecs): McpPlan | undefined {
  const options = parseOptions(args, specs);
  if (options.flag("help")) return undefined;
  if ("transport" in specs) checkServe(options.text("transport"), options.text("port"));
  const [extra] = options.rest;
  if (extra !== undefined)
    throw new AppError("invalid", `'${extra}' is not expected here`, { hint: "--help says what is" });
  const [named, configFile] = [options.text("tools"), options.text("config")];
  const port = options.text("port");
  return {
    transport: options.text("transport") === "http" ? "http" : "stdio",
    ...(named === undefined ? {} : { tools: named.split(",") }),
    ...(configFile === undefined ? {} : { configFile }),
    ...(port === undefined ? {} : { port }),
  };
}

/** Refuses a transport that cannot be served, with the line that works. */
function checkServe(transport: string | undefined, port: string | undefined): void {
  const line = `caisson serve --transport http${port === undefined ? "" : ` --port ${port}`}`;
  if (transport === "sse")
    throw new AppError("invalid", "the transport sse is no longer part of the protocol", {
      hint: `${line}; every client of 2025 and later speaks it, at /mcp`,
    });
  if (transport !== undefined && transport !== "stdio" && transport !== "http")
    throw new AppError("invalid", `there is no transport '${transport}'`, { hint: "stdio or http" });
  if (port !== undefined && transport !== "http")
    throw new AppError("invalid", "--port is only for --transport http", { hint: line });
}

export function mcpHelpText(): string {
  return `usage: caisson mcp [OPTIONS]
       caisson mcp install [OPTIONS] claude-desktop|claude-code|cursor|vscode

Serves the Model Context Protocol on standard input and output, for the program that starts it: with the daemon of this data
folder, or that of CAISSON_URL and CAISSON_API_KEY; where none runs, by itself, with sandboxes that end with it.

${formatOptions(mcpOptionSpecs)}
`;
}

export function serveHelpText(): string {
  return `usage: caisson serve [OPTIONS]

Serves the Model Context Protocol with all tools: on standard input and output as caisson mcp does with the set core, or over
HTTP as caisson up does. --tools, and mcp.tools in the configuration, choose fewer.

${formatOptions(serveOptionSpecs)}
`;
}
