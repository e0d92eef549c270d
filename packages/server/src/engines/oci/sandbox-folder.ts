import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { geteuid } from "node:process";
import { makeFolder } from "../make-folder.ts";

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

export function newSandboxId(): string {
  return Array.from(randomBytes(16), (byte) => alphabet[byte & 31]).join("");
}

/** Names of one data folder's cgroups begin alike, so that what belongs to whom can be told apart. */
export function cgroupName(engineFolder: string, id: string): string {
  return `${createHash("sha256").update(engineFolder).digest("hex").slice(0, 8)}-${id}`;
}

export function isSandboxId(name: string): boolean {
  return /^[a-z2-7]{16}$/.test(name);
}

/** What of a sandbox's folder is its owner's. */
export function ownersPaths(folder: string) {
  return {
    toGuestPath: join(folder, "wire", "to-guest"),
    fromGuestPath: join(folder, "wire", "from-guest"),
    ownerFolder: join(folder, "owner"),
  };
}

/** The tree of the engine: where root makes it, others may pass through to the FIFOs that are theirs, and list nothing. */
export async function makeEngineFolders(home: string, mode = geteuid?.() === 0 ? 0o711 : 0o700): Promise<string> {
  const folder = join(home, "engine");
  for (const path of [folder, join(folder, "sandboxes")]) {
    await makeFolder(path, mode);
  }
  return folder;
}

interface Owner {
  uid: number;
  gid: number;
}

/** Root never opens what lies in the owner's folder, and removes it by descriptors (hazard 3). */
export async function makeOwnerFolder(folder: string, owner: Owner): Promise<void> {
  const { ownerFolder } = ownersPaths(folder);
  if (existsSync(ownerFolder)) return; // of a sandbox that starts again
  await mkdir(ownerFolder, { mode: 0o700 });
  if (geteuid?.() === 0) await chown(ownerFolder, owner.uid, owner.gid);
}

export async function writeBundle(folder: string, bundle: string): Promise<void> {
  const config = join(folder, "bundle", "config.json");
  await mkdir(join(folder, "bundle"));
  await Promise.all([
    // The runtime reads it as the sandbox's own user, whatever umask this process has.
    writeFile(config, bundle, { flag: "wx" }).then(() => chmod(config, 0o644)),
    chmod(join(folder, "bundle"), 0o755),
  ]);
}

export async function readBootId(): Promise<string> {
  return (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
}
