import { readFile, rename, writeFile } from "node:fs/promises";
import { errnoOf } from "../../core/errors.ts";
import { Authority, type AuthorityKey, makeAuthorityKey } from "./authority.ts";

/** The authority that a sandbox has, or gets now. It is kept where its owner alone can read: what was trusted stays trusted. */
export async function openAuthority(path: string | null, nowMs: number): Promise<Authority> {
  const kept = path === null ? undefined : await readKey(path);
  if (kept !== undefined) return new Authority(kept);
  const key = makeAuthorityKey(nowMs);
  if (path !== null) {
    await writeFile(`${path}.new`, JSON.stringify(key), { mode: 0o600, flag: "w", flush: true });
    await rename(`${path}.new`, path);
  }
  return new Authority(key);
}

async function readKey(path: string): Promise<AuthorityKey | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as AuthorityKey;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
