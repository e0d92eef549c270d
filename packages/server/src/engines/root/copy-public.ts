import { chmod, copyFile, lstat, mkdir, readdir, readlink, stat, symlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { errnoOf } from "../../core/errors.ts";
import { imageLimits } from "../../images/limits.ts";

const OTHERS_MAY_READ = 0o004;
const OTHERS_MAY_ENTER = 0o005;
/** Never copied, whatever its mode says. */
const secretName = /^(private|.*\.key|.*password.*|.*secret.*)$/i;

/**
 * Copies what any user of the host may read: files, folders, and links whose target a sandbox will have. Everything
 * else is left out.
 */
export async function copyPublic(source: string, target: string, budget: { files: number }): Promise<void> {
  const info = await lstatIfThere(source);
  if (info === undefined || secretName.test(basename(source)) || budget.files-- <= 0) return;
  if (info.isSymbolicLink()) await copyLink(source, target);
  else if (info.isDirectory() && (info.mode & OTHERS_MAY_ENTER) === OTHERS_MAY_ENTER) {
    await makePublicFolder(target);
    for (const name of await readdir(source)) await copyPublic(join(source, name), join(target, name), budget);
  } else if (info.isFile()) await copyFileIfPublic(source, target);
}

/** Readable by sandboxes, whatever umask this process has. */
export async function makePublicFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await chmod(path, 0o755);
}

/** A link into /usr stays a link, one beside its target too; one that leads elsewhere becomes what it names. */
async function copyLink(source: string, target: string): Promise<void> {
  const text = await readlink(source);
  const destination = resolve(dirname(source), text);
  const staysBeside = destination.startsWith(`${dirname(source)}/`);
  if (destination.startsWith("/usr/") || destination.startsWith("/etc/alternatives/") || staysBeside) {
    await symlink(text, target);
    return;
  }
  await copyFileIfPublic(source, target);
}

async function copyFileIfPublic(source: string, target: string): Promise<void> {
  try {
    const info = await stat(source);
    const isPublic = info.isFile() && (info.mode & OTHERS_MAY_READ) !== 0 && info.size <= imageLimits.etcFileBytes;
    if (!isPublic || secretName.test(basename(source))) return;
    await copyFile(source, target);
    await chmod(target, (info.mode & 0o111) === 0 ? 0o644 : 0o755);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

async function lstatIfThere(path: string) {
  try {
    return await lstat(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
