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
  ...mcpOptionSpecs,
  tools: { ...tools, help: "sets of tools, such as core,files (default: all)" },
} as const satisfies OptionSpecs;

export interface McpPlan {
  transport: "stdio" | "http";
  tools?: readonly string[];
  configFile?: string;
}

/** Of `caisson mcp` and `caisson serve`; undefined when help was asked for. */
export function parseMcp(args: readonly string[], specs: OptionSpecs): McpPlan | undefined {
  const options = parseOptions(args, specs);
  if (options.flag("help")) return undefined;
  const [extra] = options.rest;
  if (extra !== undefined)
    throw new AppError("invalid", `'${extra}' is not expected here`, { hint: "--help says what is" });
  const [named, configFile] = [options.text("tools"), options.text("config")];
  return {
    transport: "transport" in specs ? readTransport(options.text("transport")) : "stdio",
    ...(named === undefined ? {} : { tools: named.split(",") }),
    ...(configFile === undefined ? {} : { configFile }),
  };
}

function readTransport(named = "stdio"): McpPlan["transport"] {
  if (named === "stdio" || named === "http") return named;
  if (named === "sse")
    throw new AppError("unsupported", "the transport sse is no longer part of the protocol", {
      hint: "--transport http: every client of 2025 and later speaks it, at /mcp",
    });
  throw new AppError("invalid", `there is no transport '${named}'`, { hint: "stdio or http" });
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
