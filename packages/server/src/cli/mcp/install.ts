import { join } from "node:path";
import type { Environment } from "../../config/env.ts";
import type { RunIo } from "../run.ts";
import { addToClient, clientFile } from "./client-file.ts";
import { mcpClients, type ServerEntry } from "./clients.ts";
import type { InstallPlan } from "./install-options.ts";

const serverName = "caisson";

/** `caisson mcp install`: adds an entry to a client's configuration and keeps everything else in it. */
export async function installMcp(environment: Environment, plan: InstallPlan, io: RunIo): Promise<number> {
  const { client } = plan;
  const { title, key, entry: toEntry } = mcpClients[client];
  const path = clientFile(client, environment.variables);
  const entry = toEntry(ownEntry(environment, plan));
  if (plan.print) {
    io.stdout.write(`${JSON.stringify({ [key]: { [serverName]: entry } }, null, 2)}\n`);
    return 0;
  }
  const byHand = `caisson mcp install --print ${client}`;
  const { isNew, backup } = await addToClient({ client, path, name: serverName, entry, byHand });
  if (!isNew) {
    io.stdout.write(`Caisson is already configured in ${path}\n`);
    return 0;
  }
  io.stdout.write(`Added Caisson to ${path}. Restart ${title} to use it.\n`);
  if (backup !== undefined) io.stdout.write(`Backup of the previous file: ${backup}\n`);
  return 0;
}

/** Holds no key: `caisson mcp` uses the daemon of its user, or needs none. */
function ownEntry({ root, home, homeOrigin }: Environment, { tools }: InstallPlan): ServerEntry {
  const args = ["mcp", ...(tools === undefined ? [] : ["--tools", tools])];
  const env = homeOrigin === "default" ? {} : { env: { CAISSON_HOME: home } };
  return { command: join(root, "caisson"), args, ...env };
}
