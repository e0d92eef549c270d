import { randomInt, randomUUID } from "node:crypto";
import { link, mkdir, readdir, readFile, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../../core/errors.ts";

/** Ranges are the whole machine's, whatever homes it has: each is a file that names the folder of its sandbox. */
export interface UidRange {
  base: number;
  release(): Promise<void>;
}

/** Slots of ids, and the folder in which those that are taken have a file. */
export interface UidPool {
  registry: string;
  firstId: number;
  slots: number;
  idsPerSlot: number;
}

/** Takes a free range for the sandbox in `folder`, which exists already. A link appears whole or not at all. */
export async function reserveUidRange(pool: UidPool, folder: string): Promise<UidRange> {
  const { registry, slots } = pool;
  await mkdir(registry, { recursive: true, mode: 0o700 });
  const draft = join(registry, `.${randomUUID()}`);
  await writeFile(draft, folder, { flag: "wx", mode: 0o600 });
  try {
    const first = randomInt(slots);
    for (let step = 0; step < slots; step++) {
      const slot = (first + step) % slots;
      const base = pool.firstId + slot * pool.idsPerSlot;
      if (await tryLink(draft, join(registry, String(slot)))) return openUidRange(pool, base, folder);
    }
  } finally {
    await unlink(draft);
  }
  throw new AppError("limit_exceeded", `all ${slots} ranges of user ids are in use`, {
    hint: "destroy sandboxes, or restart caisson, which frees the ranges of ended sandboxes",
  });
}

/** The range of a sandbox that exists. After a restart of the machine its slot may be another's, and then stays so. */
export function openUidRange(pool: UidPool, base: number, folder: string): UidRange {
  const path = join(pool.registry, String((base - pool.firstId) / pool.idsPerSlot));
  const release = async () => {
    if ((await readIfThere(path)) === folder) await removeIfThere(path);
  };
  return { base, release };
}

/** Makes sure of a range whose ids the files of a kept sandbox carry: a restart of the machine may have freed it. False where it is another's. */
export async function keepUidRange(pool: UidPool, base: number, folder: string): Promise<boolean> {
  await mkdir(pool.registry, { recursive: true, mode: 0o700 });
  const path = join(pool.registry, String((base - pool.firstId) / pool.idsPerSlot));
  if ((await readIfThere(path)) === folder) return true;
  const draft = join(pool.registry, `.${randomUUID()}`);
  await writeFile(draft, folder, { flag: "wx", mode: 0o600 });
  try {
    return (await tryLink(draft, path)) || (await readIfThere(path)) === folder;
  } finally {
    await unlink(draft);
  }
}

export function lostUidRange(id: string): AppError {
  return new AppError("unavailable", `the user ids of sandbox ${id} belong to another sandbox`, {
    hint: "after a restart of the machine another data folder got these ids: destroy that sandbox first",
  });
}

/** The range of a sandbox whose record does not tell. */
export async function findUidRange(pool: UidPool, folder: string): Promise<UidRange | undefined> {
  for (const slot of (await listIfThere(pool.registry)).filter(isSlot))
    if ((await readIfThere(join(pool.registry, slot))) === folder)
      return openUidRange(pool, pool.firstId + Number(slot) * pool.idsPerSlot, folder);
  return undefined;
}

/**
 * Frees ranges whose sandbox folder is gone. The caller holds the registry's lock: an owner releases its range before
 * its folder goes, so nobody else takes away what is read here.
 */
export async function sweepUidRanges(registry: string): Promise<void> {
  for (const name of await listIfThere(registry)) {
    if (!isSlot(name) && !isDraft(name)) continue;
    const path = join(registry, name);
    const folder = await readIfThere(path);
    // A draft is empty while it is being written.
    if (folder !== undefined && folder !== "" && !(await exists(folder))) await removeIfThere(path);
  }
}

const isSlot = (name: string) => /^\d+$/.test(name);
/** A range about to be taken: it stays when its owner is killed at that moment. */
const isDraft = (name: string) => /^\.[0-9a-f-]{36}$/.test(name);

async function listIfThere(registry: string): Promise<string[]> {
  try {
    return await readdir(registry);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw error;
  }
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}
