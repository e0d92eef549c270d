import { open, readdir, rename, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import type { DiskRoom } from "../../core/disk-room.ts";
import { errnoOf } from "../../core/errors.ts";

export const imageName = "workspace.img";
/** The image that a sandbox goes on with when its own becomes a layer: claimed before that, for there is no way back. */
const nextName = "next.img";
/** A file that takes no disk, beside what is being written: its size is how much there will be. */
const claimName = "claim";

/** Disk space that the engines of a data folder have promised, and how much of it is written, read from the files. */
export async function countBytes(engineFolder: string): Promise<Pick<DiskRoom, "claimedBytes" | "writtenBytes">> {
  const sandboxes = join(engineFolder, "sandboxes");
  let claimedBytes = 0;
  let writtenBytes = 0;
  for (const name of await readdir(sandboxes))
    for (const image of [imageName, nextName]) {
      const file = await statIfThere(join(sandboxes, name, image));
      if (file === undefined) continue;
      claimedBytes += Math.max(0, file.size - file.blocks * 512);
      writtenBytes += file.blocks * 512;
    }
  for (const parent of ["layers", "checkpoints"])
    for (const name of await namesIn(join(engineFolder, parent)))
      if (name.startsWith(".")) claimedBytes += await unwrittenOf(join(engineFolder, parent, name));
  return { claimedBytes, writtenBytes };
}

export async function claimFile(path: string, sizeBytes: number): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.truncate(sizeBytes);
}

/** Counts until what is written there gets its name, or is removed. */
export const claimIn = (draft: string, bytes: number) => claimFile(join(draft, claimName), bytes);
export const unclaim = (draft: string) => rm(join(draft, claimName), { force: true });

/** Beside what its image may grow by, so much will be used once that image is a layer: what it holds now. */
export async function claimNext(folder: string): Promise<void> {
  const image = await statIfThere(join(folder, imageName));
  await rm(join(folder, nextName), { force: true });
  await claimFile(join(folder, nextName), (image?.blocks ?? 0) * 512);
}

/** Its image is about to become a layer. */
export async function growNext(folder: string): Promise<void> {
  await truncate(join(folder, nextName), (await stat(join(folder, imageName))).size);
}

export const dropNext = (folder: string) => rm(join(folder, nextName), { force: true });

/** Whether it was claimed. */
export async function takeNext(folder: string, sizeBytes: number): Promise<boolean> {
  try {
    await truncate(join(folder, nextName), sizeBytes);
    await rename(join(folder, nextName), join(folder, imageName));
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** Replaces a claim by a new one, without a moment in which the room counts as free. False if there is no image. */
export async function emptyClaim(folder: string, sizeBytes: number): Promise<boolean> {
  const image = join(folder, imageName);
  try {
    await truncate(image, 0);
    await truncate(image, sizeBytes);
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw error;
  }
}

async function unwrittenOf(draft: string): Promise<number> {
  const claim = await statIfThere(join(draft, claimName));
  if (claim === undefined) return 0;
  let written = 0;
  for (const name of await namesIn(draft)) written += ((await statIfThere(join(draft, name)))?.blocks ?? 0) * 512;
  return Math.max(0, claim.size - written);
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return [];
    throw error;
  });
}

export async function statIfThere(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}
