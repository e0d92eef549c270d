import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { randomId } from "../lib/random-id.ts";

/** Who holds locks on folders: they are free as soon as this process is gone. */
export interface FolderLocks {
  /** Makes a folder that is locked from the moment it has its name. */
  claim(folder: string): Promise<void>;
  /** False where another process has it. */
  take(folder: string): Promise<boolean>;
}

/** A folder of this process alone. */
export async function claimFolder(parent: string, locks: FolderLocks): Promise<string> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const folder = join(parent, randomId(8, "hex"));
  await locks.claim(folder);
  return folder;
}

/** Removes what processes left that died. */
export async function sweepFolders(parent: string, own: string, locks: FolderLocks): Promise<void> {
  for (const name of await readdir(parent)) {
    const folder = join(parent, name);
    if (folder === own || !/^[0-9a-f]{16}$/.test(name) || !(await locks.take(folder))) continue;
    await rm(folder, { recursive: true, force: true });
  }
}
