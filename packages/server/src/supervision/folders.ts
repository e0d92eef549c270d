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
    throw new AppError("invalid", `cannot open the input folder ${path} (${errnoOf(cause)})`, { cause });
  }
}

/** Refuses folders that no sandbox may get (S41). */
export async function checkFolder({ id, path }: NamedFolder, role: FolderRole, home: string): Promise<void> {
  const refuse = (why: string, hint: string) =>
    new AppError("forbidden", `the folder '${id}': ${path} ${why}`, { hint });
  await checkPlainFolder(path, home, refuse);
  const trees = role === "output" ? [...systemTrees, ...programTrees] : systemTrees;
  const forbidden = systemRoots.includes(path) ? path : trees.find((tree) => isWithin(path, tree));
  if (forbidden !== undefined) throw refuse("belongs to the system", "choose a folder that contains only data");
  const place = await credentialPlaceIn(path);
  if (place !== undefined) throw refuse(`contains credentials (${place})`, "choose a folder that contains only data");
}

/** The first place of credentials that the path goes through or directly holds. */
export async function credentialPlaceIn(path: string): Promise<string | undefined> {
  for (const place of credentialPlaces) if (await touches(path, place)) return place;
  return undefined;
}

/** True if the path goes through the place or contains it: `~` does, and for `.config/gcloud` also `~/.config`. */
async function touches(path: string, place: string): Promise<boolean> {
  if (`${path}/`.includes(`/${place}/`)) return true;
  const parts = place.split("/");
  for (let above = 0; above < parts.length; above++) {
    const inside = above === 0 || path.endsWith(`/${parts.slice(0, above).join("/")}`);
    if (inside && (await isThere(join(path, ...parts.slice(above))))) return true;
  }
  return false;
}

/** A path that cannot be checked counts as existing. */
async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    const errno = errnoOf(error);
    return errno !== "ENOENT" && errno !== "ENOTDIR";
  }
}
