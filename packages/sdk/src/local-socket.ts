import { lstat, stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { LocalError } from "./local-error.ts";

const socketPathBytes = 107;
const writableByOthers = 0o002;

/** The daemon's Unix socket in a data folder; undefined where there is none. Its owner is checked before a key goes there (S85). */
export async function findSocket(home: string): Promise<string | undefined> {
  const run = join(home, "run");
  const path = join(run, "api");
  if (Buffer.byteLength(path) > socketPathBytes)
    throw new LocalError(
      "invalid",
      `the data folder ${home} has too long a path for the sockets in it`,
      "set CAISSON_HOME to a shorter one",
    );
  try {
    await checkOwner(home, await stat(home), "folder");
    await checkOwner(run, await lstat(run), "folder");
    await checkOwner(path, await lstat(path), "socket");
    return path;
  } catch (error) {
    if (error instanceof LocalError) throw error;
    const errno = error instanceof Error && "code" in error ? String(error.code) : String(error);
    if (errno === "ENOENT" || errno === "ENOTDIR") return undefined;
    throw new LocalError("forbidden", `${path} cannot be checked (${errno})`, "run as the user who started it", error);
  }
}

type Info = Awaited<ReturnType<typeof lstat>>;

/** Other accounts can neither make nor replace what root or this user owns. */
async function checkOwner(path: string, info: Info, kind: "folder" | "socket"): Promise<void> {
  const isKind = kind === "folder" ? info.isDirectory() : info.isSocket();
  const isTrusted = info.uid === 0 || info.uid === process.geteuid?.();
  const isOpen = kind === "folder" && (Number(info.mode) & writableByOthers) !== 0;
  if (isKind && isTrusted && !isOpen) return;
  const why = !isKind ? `is not a ${kind}` : isOpen ? "can be written by every user" : `belongs to uid ${info.uid}`;
  throw new LocalError(
    "forbidden",
    `no key is sent to the daemon of this data folder: ${path} ${why}`,
    "use a data folder of root or of your own, or set CAISSON_URL and CAISSON_API_KEY",
  );
}
