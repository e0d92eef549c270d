/**
 * Opens what lies in an allowed folder, and nothing else (HST-03, S58). The kernel resolves links first; then the descriptor
 * says where it leads, and from there on only the descriptor is used: a name that is swapped meanwhile changes nothing.
 */
import { constants } from "node:fs";
import { type FileHandle, open, readlink } from "node:fs/promises";
import { AppError, errnoOf } from "../core/errors.ts";
import type { HostFolder } from "../core/host-access.ts";
import { hostLimits } from "./limits.ts";

/** Linux: a place in the tree, which opens nothing, so that no device, FIFO or socket notices. */
const pathOnly = 0o10000000;

export interface AllowedFolders {
  folders: readonly HostFolder[];
  /** Names of files and folders that hold credentials (`.ssh`), refused wherever they lie. */
  closed: readonly string[];
}

export interface OpenedPath {
  handle: FileHandle;
  /** Without links. */
  real: string;
}

/** The path behind a descriptor of this process: what is opened through it is that very file or folder. */
export function pathOf({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}

async function openWithin(allowed: AllowedFolders, path: string, access: "read" | "write"): Promise<OpenedPath> {
  checkPath(path);
  const handle = await open(path, pathOnly).catch((cause: unknown) => {
    throw explain(cause, path, allowed);
  });
  try {
    const real = await readlink(pathOf(handle));
    const { nlink } = await handle.stat();
    if (nlink === 0) throw new AppError("not_found", `${path} no longer exists`);
    checkAllowed(allowed, real, path, access);
    return { handle, real };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

export async function openFile(allowed: AllowedFolders, path: string): Promise<FileHandle> {
  const opened = await openWithin(allowed, path, "read");
  try {
    if (!(await opened.handle.stat()).isFile()) throw new AppError("invalid", `${path} is not a regular file`);
    return await open(pathOf(opened.handle), constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (cause) {
    throw cause instanceof AppError ? cause : explain(cause, path, allowed);
  } finally {
    await opened.handle.close();
  }
}

export async function openFolder(allowed: AllowedFolders, path: string, access: "read" | "write"): Promise<OpenedPath> {
  const opened = await openWithin(allowed, path, access);
  if ((await opened.handle.stat()).isDirectory()) return opened;
  await opened.handle.close();
  throw new AppError("invalid", `${path} is not a folder`);
}

export function checkPath(path: string): void {
  if (!path.startsWith("/") || path.includes("\0"))
    throw new AppError("invalid", "the path on the host is not absolute", {
      hint: "list_host_access lists the open folders",
    });
  if (Buffer.byteLength(path) > hostLimits.pathBytes)
    throw new AppError("too_large", `the path is too long (limit: ${hostLimits.pathBytes} bytes)`);
}

export function checkAllowed(
  { folders, closed }: AllowedFolders,
  real: string,
  path: string,
  access: "read" | "write",
): void {
  const held = folders.filter(({ path: folder }) => isWithin(real, folder));
  if (held.length === 0) throw outside(path);
  if (access === "write" && !held.some(({ writable }) => writable))
    throw new AppError("forbidden", `${path} is in a read-only folder`);
  const folder = closed.find((name) => `${real}/`.includes(`/${name}/`));
  if (folder !== undefined) throw new AppError("forbidden", `${path} is in a folder of credentials (${folder})`);
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

function outside(path: string): AppError {
  return new AppError("forbidden", `${path.slice(0, 200)} is not in an open folder`, {
    hint: "list_host_access lists the open folders; symbolic links are resolved first",
  });
}

/** Of what lies outside it is not told whether it exists. */
function explain(cause: unknown, path: string, { folders }: AllowedFolders): AppError {
  const plain = !path.split("/").includes("..");
  if (!plain || !folders.some(({ path: folder }) => isWithin(path, folder))) return outside(path);
  const errno = errnoOf(cause);
  if (errno === "ENOENT" || errno === "ENOTDIR")
    return new AppError("not_found", `no such file or folder: ${path}`, { cause });
  return new AppError("forbidden", `the user of host access cannot open ${path} (${errno})`, { cause });
}
