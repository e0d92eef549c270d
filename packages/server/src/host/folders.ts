import { lstat, realpath } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../core/errors.ts";
import type { FolderRole, NamedFolder } from "../core/folder.ts";
import { credentialPlaces, programTrees, systemRoots, systemTrees } from "./credential-places.ts";
import { checkPlainFolder, isWithin } from "./plain-folder.ts";

/** The path without links, for a caller who may name any. */
export async function realFolder(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (cause) {
    throw new AppError("invalid", `the input folder ${path} cannot be opened (${errnoOf(cause)})`, { cause });
  }
}

/** Refuses what no sandbox may be given (S41). */
export async function checkFolder({ id, path }: NamedFolder, role: FolderRole, home: string): Promise<void> {
  const refuse = (why: string, hint: string) =>
    new AppError("forbidden", `the folder '${id}': ${path} ${why}`, { hint });
  await checkPlainFolder(path, home, refuse);
  const trees = role === "output" ? [...systemTrees, ...programTrees] : systemTrees;
  const forbidden = systemRoots.includes(path) ? path : trees.find((tree) => isWithin(path, tree));
  if (forbidden !== undefined) throw refuse("belongs to the system", "name a folder that holds nothing but the data");
  const place = await credentialPlaceIn(path);
  if (place !== undefined)
    throw refuse(`is or holds a place of credentials (${place})`, "name a folder that holds nothing but the data");
}

/** The first place of credentials that the path goes through or directly holds. */
export async function credentialPlaceIn(path: string): Promise<string | undefined> {
  for (const place of credentialPlaces) if (await touches(path, place)) return place;
  return undefined;
}

/** Whether the path goes through the place, or the place lies in it: in `~`, and for `.config/gcloud` in `~/.config` too. */
async function touches(path: string, place: string): Promise<boolean> {
  if (`${path}/`.includes(`/${place}/`)) return true;
  const parts = place.split("/");
  for (let above = 0; above < parts.length; above++) {
    const inside = above === 0 || path.endsWith(`/${parts.slice(0, above).join("/")}`);
    if (inside && (await isThere(join(path, ...parts.slice(above))))) return true;
  }
  return false;
}

/** What cannot be looked at counts as there. */
async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    const errno = errnoOf(error);
    return errno !== "ENOENT" && errno !== "ENOTDIR";
  }
}
