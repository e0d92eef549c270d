import { createHash, type Hash, randomUUID } from "node:crypto";
import { chmod, constants, copyFile, lstat, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { errnoOf } from "../core/errors.ts";
import { makeFolder } from "./access.ts";

export interface AppParts {
  /** The bundles. */
  code: string;
  /** The compiled programs. */
  bin: string;
  node: string;
}

/**
 * A copy of everything that runs with rights, where only root writes: whoever may change the checkout later, or is the
 * daemon, cannot change what root runs (hazard 3). Each lies in a folder named for its content, so that one in use stays.
 */
export async function copyApp(app: string, parts: AppParts): Promise<AppParts> {
  await makeFolder(app, { uid: 0, mode: 0o755, exact: true });
  const code = await copyAll(app, "code", await filesIn(parts.code, (name) => /\.(mjs|wasm|node)$/.test(name)));
  const programs = await filesIn(parts.bin, (name) => name.startsWith("caisson-") || name === "runsc");
  const kernels = await filesIn(join(parts.bin, "kernels"), () => true, "kernels");
  const bin = await copyAll(app, "bin", [...programs, ...kernels]);
  const node = await copyAll(app, "node", [{ name: "node", source: parts.node }]);
  return { code, bin, node: join(node, "node") };
}

/** Removes copies that nothing uses: sandboxes show their programs to the code inside, and the next one may be any of them. */
export async function removeOldCopies(app: string, sandboxes: string, used: AppParts): Promise<void> {
  if ((await readdir(sandboxes).catch(() => [])).length > 0) return;
  const kept = [used.code, used.bin, join(used.node, "..")].map((path) => basename(path));
  for (const name of await readdir(app))
    if (!kept.includes(name)) await rm(join(app, name), { recursive: true, force: true });
}

interface Source {
  name: string;
  source: string;
}

async function filesIn(folder: string, wanted: (name: string) => boolean, under = ""): Promise<Source[]> {
  const names = (await readdir(folder)).filter(wanted).sort();
  return names.map((name) => ({ name: join(under, name), source: join(folder, name) }));
}

async function copyAll(app: string, kind: string, files: readonly Source[]): Promise<string> {
  const hash = createHash("sha256");
  for (const { name, source } of files) {
    hash.update(`${name}\0${(await stat(source)).mode & 0o111 ? "x" : "-"}\0`);
    await hashFile(hash, source);
  }
  const target = join(app, `${kind}-${hash.digest("hex").slice(0, 24)}`);
  if (await isThere(target)) return target;
  const draft = join(app, `.${randomUUID()}`);
  await mkdir(draft, { mode: 0o755 });
  for (const { name, source } of files) {
    const path = join(draft, name);
    await mkdir(join(path, ".."), { recursive: true, mode: 0o755 });
    await copyFile(source, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    await chmod(path, (await stat(source)).mode & 0o111 ? 0o755 : 0o644);
  }
  await chmod(draft, 0o755);
  await rename(draft, target);
  return target;
}

/** With one small buffer: this process lives on, and Node is large. */
async function hashFile(hash: Hash, path: string): Promise<void> {
  await using file = await open(path);
  const buffer = Buffer.allocUnsafe(256 * 1024);
  for (;;) {
    const { bytesRead } = await file.read(buffer);
    if (bytesRead === 0) return;
    hash.update(buffer.subarray(0, bytesRead));
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory();
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw error;
  }
}
