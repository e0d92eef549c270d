import { lstat, realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { type AppError, errnoOf } from "../core/errors.ts";

export type RefuseFolder = (why: string, hint: string) => AppError;

/**
 * Refuses what is no folder of data by a plain path: with a link in it, whoever owns a folder above could lead root elsewhere
 * once this has been asked. Caisson's own data is for nobody.
 */
export async function checkPlainFolder(path: string, home: string, refuse: RefuseFolder): Promise<void> {
  if (!path.startsWith("/") || path.includes("\0") || resolve(path) !== path)
    throw refuse(
      "is not an absolute path in its plain form",
      "name it from / on, without '.', '..' or a '/' at its end",
    );
  const real = await realpath(path).catch((error: unknown) => {
    throw refuse(`cannot be opened (${errnoOf(error)})`, "make the folder, or take it out of the configuration");
  });
  if (real !== path) throw refuse("has a link in it", `name the folder that it leads to: ${real}`);
  if (!(await lstat(path)).isDirectory()) throw refuse("is not a folder", "name the folder that the file is in");
  const realHome = await realpath(home).catch(() => home);
  if (isWithin(path, realHome) || isWithin(realHome, path))
    throw refuse("holds Caisson's own data, or is part of it", "name a folder beside the data folder");
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}
