/**
 * Which file a command runs. A pattern allows a program by its name, and so only where nobody but root decides what lies
 * under that name: every folder and link on the way, and the file, are root's, and nobody else may write them (S57).
 */
import { constants } from "node:fs";
import { access, lstat, readlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError, errnoOf } from "../core/errors.ts";
import { hostLimits } from "./limits.ts";

/** Where programs are looked for, in this order; a caller's PATH counts for nothing. */
export const programFolders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"] as const;

export interface Program {
  /** Without links. */
  path: string;
  /** All names it goes by, for what is blocked. */
  spellings: readonly string[];
}

export async function findProgram(name: string): Promise<Program> {
  if (name.startsWith("/")) return openProgram(name);
  if (name === "" || name.includes("/"))
    throw new AppError("invalid", `'${shorten(name)}' is neither a program's name nor an absolute path`);
  for (const folder of programFolders) {
    const path = join(folder, name);
    if (await isThere(path)) return openProgram(path);
  }
  throw new AppError("not_found", `program '${shorten(name)}' not found on the host`, {
    hint: `searched folders: ${programFolders.join(", ")}`,
  });
}

async function openProgram(name: string): Promise<Program> {
  const names = [name];
  const path = await fixedPath(name, names);
  const info = await lstat(path);
  if (!info.isFile()) throw new AppError("invalid", `${shorten(name)} is not a program`);
  await access(path, constants.X_OK).catch((cause: unknown) => {
    throw new AppError("forbidden", `the user of host access cannot run ${shorten(name)}`, { cause });
  });
  return { path, spellings: [...names, path].flatMap((one) => [one, one.slice(one.lastIndexOf("/") + 1)]) };
}

/** Resolves links by hand, so that each name on the way is looked at. */
async function fixedPath(name: string, names: string[]): Promise<string> {
  let links = 0;
  let done = "/";
  await checkFixed("/", name);
  const left = name.split("/").filter((part) => part !== "" && part !== ".");
  for (let part = left.shift(); part !== undefined; part = left.shift()) {
    if (part === "..") {
      done = dirname(done);
      continue;
    }
    const next = join(done, part);
    const info = await checkFixed(next, name);
    if (!info.isSymbolicLink()) {
      done = next;
      continue;
    }
    if (++links > hostLimits.links) throw new AppError("invalid", `${shorten(name)}: too many symbolic links`);
    const target = await readlink(next);
    names.push(join(done, target.startsWith("/") ? "/" : "", target));
    if (target.startsWith("/")) done = "/";
    left.unshift(...target.split("/").filter((one) => one !== "" && one !== "."));
  }
  return done;
}

async function checkFixed(path: string, name: string) {
  const info = await lstat(path).catch((cause: unknown) => {
    throw new AppError("not_found", `program ${shorten(name)} not found on the host (${errnoOf(cause)})`, { cause });
  });
  const writable = !info.isSymbolicLink() && (info.mode & 0o022) !== 0;
  if (info.uid === 0 && !writable) return info;
  throw new AppError("forbidden", `${shorten(name)} is refused: other users than root can change ${path}`, {
    hint: "install the program where only root can write",
  });
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return false;
    throw new AppError("not_found", `cannot read ${shorten(path)} (${errnoOf(error)})`, { cause: error });
  }
}

function shorten(text: string): string {
  return text.length <= 100 ? text : `${text.slice(0, 99)}…`;
}
