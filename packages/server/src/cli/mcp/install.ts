import { copyFile, mkdir, open, readFile, realpath, rename, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Environment } from "../../config/env.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
import { randomId } from "../../lib/random-id.ts";
import type { RunIo } from "../run.ts";
import { type McpClientName, mcpClients, type ServerEntry } from "./clients.ts";
import type { InstallPlan } from "./install-options.ts";

const serverName = "caisson";

/** `caisson mcp install`: adds an entry to a client's configuration and keeps everything else in it. */
export async function installMcp(environment: Environment, plan: InstallPlan, io: RunIo): Promise<number> {
  const { title, file, key, entry } = mcpClients[plan.client];
  const home = environment.variables.HOME ?? homedir();
  const path = file({ home, config: environment.variables.XDG_CONFIG_HOME || join(home, ".config") });
  const servers = { [serverName]: entry(ownEntry(environment, plan)) };
  if (plan.print) {
    io.stdout.write(`${JSON.stringify({ [key]: servers }, null, 2)}\n`);
    return 0;
  }
  const before = await readConfiguration(path, key, plan.client);
  const known = before.found[key] as Record<string, unknown> | undefined;
  if (isDeepStrictEqual(known?.[serverName], servers[serverName])) {
    io.stdout.write(`Caisson is already configured in ${path}\n`);
    return 0;
  }
  const after = { ...before.found, [key]: { ...known, ...servers } };
  const backup = before.exists ? `${before.path}.before-caisson` : undefined;
  if (backup !== undefined) await copyFile(before.path, backup);
  await replace(before.path, `${JSON.stringify(after, null, 2)}\n`, before.mode);
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

interface Found {
  /** Resolved path, if the name is a link. */
  path: string;
  exists: boolean;
  mode: number;
  found: Record<string, unknown>;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

async function readConfiguration(named: string, key: string, client: McpClientName): Promise<Found> {
  let path = named;
  let text: string;
  try {
    path = await realpath(named);
    text = await readFile(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return { path, exists: false, mode: 0o600, found: {} };
    throw new AppError("unavailable", `cannot read ${named}: ${errnoOf(error)}`, { cause: error });
  }
  const refuse = (why: string): AppError =>
    new AppError("conflict", `cannot change ${path}: ${why}`, {
      hint: `add the entry by hand: caisson mcp install --print ${client} prints it`,
    });
  let found: unknown;
  try {
    found = text.trim() === "" ? {} : JSON.parse(text);
  } catch {
    throw refuse("it is not plain JSON");
  }
  if (!isObject(found)) throw refuse("it is not a JSON object");
  if (found[key] !== undefined && !isObject(found[key])) throw refuse(`'${key}' is not an object`);
  return { path, exists: true, mode: (await stat(path)).mode & 0o777, found };
}

/** Replaces the file in one step: a client may read it at the same time. */
async function replace(path: string, text: string, mode: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomId(6, "hex")}`;
  const file = await open(draft, "wx", mode);
  try {
    await file.chmod(mode);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}
