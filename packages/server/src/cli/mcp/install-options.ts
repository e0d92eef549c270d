import { AppError } from "../../core/errors.ts";
import { formatOptions, type OptionSpecs, parseOptions } from "../options.ts";
import { helpOption } from "../report-options.ts";
import { isMcpClient, type McpClientName, mcpClients } from "./clients.ts";
import { mcpOptionSpecs } from "./options.ts";

export const installOptionSpecs = {
  tools: mcpOptionSpecs.tools,
  print: { type: "boolean", help: "show what would be written, and write nothing" },
  help: helpOption,
} as const satisfies OptionSpecs;

export interface InstallPlan {
  client: McpClientName;
  print: boolean;
  tools?: string;
}

const names = Object.keys(mcpClients).join("|");

/** Undefined when help was asked for. */
export function parseInstall(args: readonly string[]): InstallPlan | undefined {
  const {
    rest: [client = "", ...after],
    ...first
  } = parseOptions(args, installOptionSpecs);
  // Options may follow the client's name.
  const last = parseOptions(after, installOptionSpecs);
  if (first.flag("help") || last.flag("help")) return undefined;
  const [extra] = last.rest;
  if (extra !== undefined) throw new AppError("invalid", `'${extra}' is not expected here`, { hint: names });
  if (!isMcpClient(client))
    throw new AppError(
      "invalid",
      client === "" ? "which client?" : `there is no client '${client}' that is known here`,
      {
        hint: `caisson mcp install ${names}; for any other, --print shows what most take`,
      },
    );
  const tools = last.text("tools") ?? first.text("tools");
  return { client, print: first.flag("print") || last.flag("print"), ...(tools === undefined ? {} : { tools }) };
}

export function installHelpText(): string {
  return `usage: caisson mcp install [OPTIONS] ${names}

Writes an entry into the client's configuration, so that it starts caisson mcp. What else is in there stays, and a copy of
what was before is kept beside it. No key is written: the client's server is the daemon of this user, or needs none.

${formatOptions(installOptionSpecs)}
`;
}
