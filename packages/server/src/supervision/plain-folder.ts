import { lstat, realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { type AppError, errnoOf } from "../core/errors.ts";

export type RefuseFolder = (why: string, hint: string) => AppError;

/**
 * Refuses a path that is not a plain folder. With a link in the path, the owner of a parent folder could redirect root after
 * this check. Caisson's own data folder is always refused.
 */
export async function checkPlainFolder(path: string, home: string, refuse: RefuseFolder): Promise<void> {
  if (!path.startsWith("/") || path.includes("\0") || resolve(path) !== path)
    throw refuse("is not a plain absolute path", "start it with /, without '.', '..' or a '/' at its end");
  const real = await realpath(path).catch((error: unknown) => {
    throw refuse(`cannot be opened (${errnoOf(error)})`, "create the folder, or remove it from the configuration");
  });
  if (real !== path) throw refuse("contains a symbolic link", `use the real path: ${real}`);
  if (!(await lstat(path)).isDirectory()) throw refuse("is not a folder", "use the folder that contains the file");
  const realHome = await realpath(home).catch(() => home);
  if (isWithin(path, realHome) || isWithin(realHome, path))
    throw refuse("contains Caisson's data folder, or is part of it", "choose a folder outside the data folder");
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}
