import { AppError } from "../../core/errors.ts";
import { formatOptions, type OptionSpecs, parseOptions } from "../options.ts";
import { helpOption } from "../report-options.ts";
import { isMcpClient, type McpClientName, mcpClients } from "./clients.ts";
import { mcpOptionSpecs } from "./options.ts";

export const installOptionSpecs = {
  tools: mcpOptionSpecs.tools,
  print: { type: "boolean", help: "print the entry and write nothing" },
  help: helpOption,
} as const satisfies OptionSpecs;

export interface InstallPlan {
  client: McpClientName;
  print: boolean;
  tools?: string;
}

const names = Object.keys(mcpClients).join("|");

/** Undefined when --help is given. */
export function parseInstall(args: readonly string[]): InstallPlan | undefined {
  const {
    rest: [client = "", ...after],
    ...first
  } = parseOptions(args, installOptionSpecs);
  // Options may follow the client's name.
  const last = parseOptions(after, installOptionSpecs);
  if (first.flag("help") || last.flag("help")) return undefined;
  const [extra] = last.rest;
  if (extra !== undefined)
    throw new AppError("invalid", `unexpected argument '${extra}'`, {
      hint: `caisson mcp install ${names}`,
    });
  if (!isMcpClient(client))
    throw new AppError("invalid", client === "" ? "missing client" : `unknown client '${client}'`, {
      hint: `caisson mcp install ${names}; most other clients accept the entry of caisson mcp install --print cursor`,
    });
  const tools = last.text("tools") ?? first.text("tools");
  return { client, print: first.flag("print") || last.flag("print"), ...(tools === undefined ? {} : { tools }) };
}

export function installHelpText(): string {
  return `usage: caisson mcp install [OPTIONS] ${names}

Adds Caisson to the client's configuration, so that the client starts caisson mcp. Other entries are kept, and the old file
is saved beside it. No API key is written: caisson mcp uses the daemon of the user who starts it, or starts its own sandboxes.

${formatOptions(installOptionSpecs)}
`;
}
