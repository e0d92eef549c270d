import { open, readFile, rename, rm } from "node:fs/promises";
import { errnoOf } from "../core/errors.ts";
import { looksLikeKey, newKeyToken } from "./key-token.ts";
import type { Keyring } from "./keyring.ts";

/** The namespace of whoever has no other. */
export const defaultNamespace = "default";

export interface FirstAdmin {
  /** Whether the place had no administrator before. */
  isFirst: boolean;
}

/**
 * Sees to it that the key in `file` is an administrator's (IDN-03). A file that is missing, or whose key was revoked, is
 * written anew: whoever may write it may administer the place.
 */
export async function ensureAdmin(keyring: Keyring, file: string): Promise<FirstAdmin> {
  const token = await readToken(file);
  if (token !== undefined) {
    const principal = await keyring.authenticate(token).catch(() => undefined);
    if (principal?.role === "admin" && principal.scopes === undefined) return { isFirst: false };
  }
  const fresh = newKeyToken();
  const isFirst = (await keyring.list()).length === 0;
  await keyring.adopt(fresh, { name: "admin-key", namespace: defaultNamespace, role: "admin" });
  await writeToken(file, fresh);
  return { isFirst };
}

async function readToken(file: string): Promise<string | undefined> {
  try {
    const token = (await readFile(file, "utf8")).trim();
    return looksLikeKey(token) ? token : undefined;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Readable by its owner alone from its first moment, and whole or not there. */
async function writeToken(file: string, token: string): Promise<void> {
  const draft = `${file}.new`;
  await rm(draft, { force: true });
  const handle = await open(draft, "wx", 0o600);
  try {
    await handle.writeFile(`${token}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}
