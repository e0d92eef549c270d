import { copyFile, mkdir, open, readFile, realpath, rename, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Variables } from "../../config/env.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
import { randomId } from "../../lib/random-id.ts";
import { type McpClientName, mcpClients } from "./clients.ts";

/** Path of a client's configuration of this user. */
export function clientFile(client: McpClientName, variables: Variables): string {
  const home = variables.HOME ?? homedir();
  return mcpClients[client].file({ home, config: variables.XDG_CONFIG_HOME || join(home, ".config") });
}

interface Addition {
  client: McpClientName;
  path: string;
  /** Name of the server in the file. */
  name: string;
  entry: object;
  /** Command that prints the entry, for a file that cannot be changed. */
  byHand: string;
}

export interface Added {
  isNew: boolean;
  /** Copy of the file as it was. */
  backup?: string;
}

/** Adds a server to a client's configuration and keeps everything else in it. */
export async function addToClient({ client, path, name, entry, byHand }: Addition): Promise<Added> {
  const { key } = mcpClients[client];
  const before = await readConfiguration(path, key, byHand);
  const known = before.found[key] as Record<string, unknown> | undefined;
  if (isDeepStrictEqual(known?.[name], entry)) return { isNew: false };
  const after = { ...before.found, [key]: { ...known, [name]: entry } };
  const backup = before.exists ? `${before.path}.before-caisson` : undefined;
  if (backup !== undefined) await copyFile(before.path, backup);
  await replace(before.path, `${JSON.stringify(after, null, 2)}\n`, before.mode);
  return { isNew: true, ...(backup === undefined ? {} : { backup }) };
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

async function readConfiguration(named: string, key: string, byHand: string): Promise<Found> {
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
    new AppError("conflict", `cannot change ${path}: ${why}`, { hint: `add the entry by hand: ${byHand} prints it` });
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
