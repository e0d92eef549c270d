import { lstat, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { LocalError } from "./local-error.ts";

const socketPathBytes = 107;
const writableByOthers = 0o022;
const sticky = 0o1000;

/**
 * The daemon's Unix socket in a data folder, by a path without links; undefined where there is none. All that stands on that
 * path is checked before a key goes there (S85).
 */
export async function findSocket(home: string): Promise<string | undefined> {
  let path = join(home, "run/api");
  try {
    const folder = await realpath(home);
    path = join(folder, "run/api");
    checkLength(home, path);
    for (const above of parentsOf(folder)) checkOwner(above, await lstat(above), "parent");
    for (const own of [folder, dirname(path)]) checkOwner(own, await lstat(own), "folder");
    checkOwner(path, await lstat(path), "socket");
    return path;
  } catch (error) {
    if (error instanceof LocalError) throw error;
    const errno = error instanceof Error && "code" in error ? String(error.code) : String(error);
    if (errno === "ENOENT" || errno === "ENOTDIR") return undefined;
    throw new LocalError(
      "forbidden",
      `cannot check ${path} (${errno})`,
      "run this as the user who started the daemon",
      error,
    );
  }
}

function checkLength(home: string, path: string): void {
  if (Buffer.byteLength(path) > socketPathBytes)
    throw new LocalError(
      "invalid",
      `the path of the data folder ${home} is too long for its sockets`,
      "set CAISSON_HOME to a shorter path",
    );
}

function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [...parentsOf(parent), parent];
}

type Info = Awaited<ReturnType<typeof lstat>>;

/** Other accounts can neither make nor replace what root or this user owns; in a sticky folder (/tmp) each account has its own. */
function checkOwner(path: string, info: Info, kind: "parent" | "folder" | "socket"): void {
  const isKind = kind === "socket" ? info.isSocket() : info.isDirectory();
  const isTrusted = info.uid === 0 || info.uid === process.geteuid?.();
  const mode = Number(info.mode);
  const isShared = kind === "parent" && (mode & sticky) !== 0;
  const isOpen = kind !== "socket" && !isShared && (mode & writableByOthers) !== 0;
  if (isKind && isTrusted && !isOpen) return;
  const why = !isKind ? `is not a ${kind}` : isOpen ? "can be written by other users" : `belongs to uid ${info.uid}`;
  throw new LocalError(
    "forbidden",
    `no key is sent to the daemon of this data folder: ${path} ${why}`,
    "use a data folder that belongs to you or root, or set CAISSON_URL and CAISSON_API_KEY",
  );
}
