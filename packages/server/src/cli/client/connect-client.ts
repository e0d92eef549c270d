import { join } from "node:path";
import type { Caisson, ServerInfo } from "@caisson/sdk";
import { readEnvironment } from "../../config/env.ts";
import { AppError } from "../../core/errors.ts";
import { quoteWords } from "../../host-access/split.ts";
import { addToClient, clientFile } from "../mcp/client-file.ts";
import { genericEndpoint, isMcpClient, type McpClientName, mcpClients } from "../mcp/clients.ts";
import type { RunIo } from "../run.ts";
import { visible, visibleJson } from "../terminal.ts";
import { tellJson, tellLine } from "./tell.ts";
import type { Verb, VerbCall } from "./verb.ts";

const generic = "generic";
const clients = [...Object.keys(mcpClients), generic];
/** Stands for a key where none is given. */
const placeholder = "YOUR_API_KEY";

/** Configuration of one client that connects to a hosted server. */
function configurationOf(client: string, server: ServerInfo, key: string): Record<string, Record<string, object>> {
  const top = isMcpClient(client) ? mcpClients[client].key : "mcpServers";
  return { [top]: { [server.name]: entryOf(client, server, key) } };
}

function entryOf(client: string, { id, endpoint: url }: ServerInfo, key: string): object {
  if (!isMcpClient(client)) return genericEndpoint({ url, key });
  const program = mcpClients[client];
  if ("endpoint" in program) return program.endpoint({ url, key });
  const env = { CAISSON_URL: new URL(url).origin, CAISSON_API_KEY: key };
  return program.entry({ command: join(readEnvironment().root, "caisson"), args: ["mcp", "--server", id], env });
}

/** The command that makes Claude Code add the server itself, for a POSIX shell. */
function claudeCommand({ name, endpoint }: ServerInfo, key: string): string {
  return quoteWords([
    ...["claude", "mcp", "add", "--transport", "http", name, endpoint],
    ...["--header", `X-API-Key: ${key}`],
  ]);
}

function print({ io, json }: VerbCall, server: ServerInfo, client: string | undefined, key: string): number {
  if (client !== undefined) return tellJson(io, configurationOf(client, server, key));
  const all = clients.map((name) => [name, configurationOf(name, server, key)] as const);
  if (json) return tellJson(io, Object.fromEntries(all));
  tellLine(io, `endpoint: ${server.endpoint}`);
  for (const [name, configuration] of all) {
    const title = isMcpClient(name) ? mcpClients[name].title : "Other clients";
    io.stdout.write(`\n${title} (--client ${name})\n${visibleJson(configuration)}\n`);
    if (name === "claude-code") tellLine(io, `or: ${claudeCommand(server, key)}`);
  }
  return 0;
}

async function write(
  { caisson, io }: VerbCall,
  server: ServerInfo,
  client: McpClientName,
  given: string | undefined,
): Promise<number> {
  const path = clientFile(client, readEnvironment().variables);
  const key = given ?? (await makeKey(caisson, server, client, io));
  const byHand = quoteWords(["caisson", "servers", "connect", server.name, "--client", client]);
  const entry = entryOf(client, server, key);
  const { isNew, backup } = await addToClient({ client, path, name: server.name, entry, byHand });
  const { title } = mcpClients[client];
  if (!isNew) return tellLine(io, `${server.name} is already configured in ${path}`);
  tellLine(io, `Added ${server.name} to ${path}. Restart ${title} to use it.`);
  return backup === undefined ? 0 : tellLine(io, `Backup of the previous file: ${backup}`);
}

/** A key that reaches this server and nothing else. */
async function makeKey(caisson: Caisson, server: ServerInfo, client: McpClientName, io: RunIo): Promise<string> {
  const name = `${server.name} in ${client}`;
  const scopes = [`server:${server.id}`];
  const { id, key } = await caisson.keys.create({ name, role: "agent", namespace: server.namespace, scopes });
  io.stderr.write(`caisson: created the key ${id}, which reaches only this server: caisson keys rm ${id} revokes it\n`);
  return key;
}

export const connectVerb: Verb = {
  summary: "print how MCP clients connect to a hosted server, or add it to a client's configuration",
  usage: "SERVER",
  words: [1, 1],
  about: `Without --client, prints the configuration of each client: ${clients.join(", ")}.\n--write without --key creates a key that reaches only this server.`,
  options: {
    client: { type: "string", value: clients.join("|"), help: "only this client" },
    key: { type: "string", value: "KEY", help: `API key to put in (default when printing: ${placeholder})` },
    write: { type: "boolean", help: "add the server to the client's configuration; needs --client" },
  },
  run: async (call) => {
    const { caisson, options, words, io } = call;
    const [client, key] = [options.text("client"), options.text("key")];
    if (client !== undefined && !clients.includes(client))
      throw new AppError("invalid", `unknown client '${client}'`, { hint: `the clients are ${clients.join(", ")}` });
    const isWritten = options.flag("write");
    if (isWritten && (client === undefined || !isMcpClient(client)))
      throw new AppError("invalid", "--write requires --client with a client whose file is known", {
        hint: `--client ${Object.keys(mcpClients).join("|")}`,
      });
    const server = await caisson.servers.get(words[0] ?? "");
    if (isWritten) return write(call, server, client as McpClientName, key);
    if (key === undefined)
      io.stderr.write(
        `caisson: replace ${placeholder} with a key for this server: caisson keys create NAME --scope server:${visible(server.id)}\n`,
      );
    return print(call, server, client, key ?? placeholder);
  },
};
