import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Caisson } from "./caisson.ts";
import { LocalError } from "./local-error.ts";
import { localFetch } from "./local-fetch.ts";
import { findSocket } from "./local-socket.ts";
import { LocalWebSocket } from "./local-web-socket.ts";
import type { ClientOptions } from "./transport.ts";

export interface LocalOptions extends Omit<ClientOptions, "url" | "key" | "fetch" | "openSocket"> {
  /** The data folder, in place of CAISSON_HOME. */
  home?: string;
  /** In place of the variables of this process. */
  variables?: Readonly<Record<string, string | undefined>>;
}

export { LocalError };

const maxAnswerCharacters = 65_536;
const defaultTimeoutMs = 60_000;

/**
 * Connects to the daemon of CAISSON_URL and CAISSON_API_KEY, or to the one of the data folder with its administrator key.
 * That key is sent only to the Unix socket in the data folder, never to an address.
 */
export async function openLocal(options: LocalOptions = {}): Promise<Caisson> {
  const found = await findLocal(options);
  if (found !== undefined) return found;
  const hint = "start one: caisson up --detach; or set CAISSON_URL to use another";
  throw new LocalError("unavailable", `no daemon is running for ${homeOf(options)}`, hint);
}

/** Like openLocal, but undefined if CAISSON_URL is not set and no daemon is running. */
export async function findLocal(options: LocalOptions = {}): Promise<Caisson | undefined> {
  const { home: _, variables = process.env, ...rest } = options;
  const home = homeOf(options);
  const url = variables.CAISSON_URL || undefined;
  const given = variables.CAISSON_API_KEY;
  if (url !== undefined) return new Caisson({ ...rest, url, ...(given === undefined ? {} : { key: given }) });
  const address = await addressOf(home, rest.timeoutMs);
  const socket = address === undefined ? undefined : await findSocket(home);
  if (address === undefined || socket === undefined) return undefined;
  const way = { fetch: localFetch(socket), openSocket: (url: URL) => LocalWebSocket.open(socket, url) };
  return new Caisson({ ...rest, url: address, key: given ?? (await adminKeyOf(home)), ...way });
}

function homeOf({ home, variables = process.env }: LocalOptions): string {
  return home ?? (variables.CAISSON_HOME || defaultHome());
}

function defaultHome(): string {
  return process.geteuid?.() === 0 ? "/var/lib/caisson" : join(homedir(), ".caisson");
}

/** The address that `caisson up` reports, with its current port. */
async function addressOf(home: string, timeoutMs = defaultTimeoutMs): Promise<string | undefined> {
  try {
    return (await askStatus(join(home, "run/control"), timeoutMs)).address;
  } catch (error) {
    if (error instanceof LocalError) throw error;
    const errno = errnoOf(error);
    if (["ENOENT", "ECONNREFUSED", "ENOTDIR"].includes(errno)) return undefined;
    const why = `cannot connect to the daemon of this data folder (${errno})`;
    throw new LocalError("forbidden", why, "run this as the user who started the daemon", error);
  }
}

function askStatus(path: string, timeoutMs: number): Promise<{ address: string }> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(path, () => socket.write("status\n")).setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      text += chunk;
      if (text.length > maxAnswerCharacters) socket.destroy();
    });
    socket.setTimeout(timeoutMs, () => socket.destroy());
    socket.on("error", reject);
    socket.on("close", () => {
      try {
        resolve(JSON.parse(text));
      } catch (cause) {
        const hint = "check that it is running: caisson status";
        reject(new LocalError("unavailable", "the daemon of this data folder did not answer", hint, cause));
      }
    });
  });
}

async function adminKeyOf(home: string): Promise<string> {
  const path = join(home, "admin-key");
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    const why = `cannot read the key in ${path} (${errnoOf(error)})`;
    throw new LocalError("unauthenticated", why, "set CAISSON_API_KEY to use another key", error);
  }
}

function errnoOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
