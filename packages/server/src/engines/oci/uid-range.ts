import { randomInt, randomUUID } from "node:crypto";
import { link, mkdir, readdir, readFile, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../../core/errors.ts";
import { engineLimits, sandboxLimits } from "../../core/limits.ts";

/** Ranges are the whole machine's, whatever homes it has: each is a file that names the folder of its sandbox. */
export interface UidRange {
  base: number;
  release(): Promise<void>;
}

const baseOf = (slot: number) => engineLimits.uidBase + slot * sandboxLimits.uidsPerSandbox;

/** Takes a free range for the sandbox in `folder`, which exists already. A link appears whole or not at all. */
export async function reserveUidRange(registry: string, folder: string): Promise<UidRange> {
  await mkdir(registry, { recursive: true, mode: 0o700 });
  const draft = join(registry, `.${randomUUID()}`);
  await writeFile(draft, folder, { flag: "wx", mode: 0o600 });
  try {
    const first = randomInt(engineLimits.uidSlots);
    for (let step = 0; step < engineLimits.uidSlots; step++) {
      const slot = (first + step) % engineLimits.uidSlots;
      if (await tryLink(draft, join(registry, String(slot)))) return openUidRange(registry, baseOf(slot), folder);
    }
  } finally {
    await unlink(draft);
  }
  throw new AppError("limit_exceeded", `all ${engineLimits.uidSlots} ranges of user ids are taken`, {
    hint: "End some sandboxes, or restart caisson: it frees the ranges of sandboxes that are gone.",
  });
}

/** The range of a sandbox that exists. After a restart of the machine its slot may be another's, and then stays so. */
export function openUidRange(registry: string, base: number, folder: string): UidRange {
  const path = join(registry, String((base - engineLimits.uidBase) / sandboxLimits.uidsPerSandbox));
  const release = async () => {
    if ((await readIfThere(path)) === folder) await removeIfThere(path);
  };
  return { base, release };
}

/**
 * Frees ranges whose sandbox folder is gone. The caller holds the registry's lock: an owner releases its range before
 * its folder goes, so nobody else takes away what is read here.
 */
export async function sweepUidRanges(registry: string): Promise<void> {
  const names = await readdir(registry).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  });
  for (const name of names.filter((name) => /^\d+$/.test(name))) {
    const path = join(registry, name);
    const folder = await readIfThere(path);
    if (folder !== undefined && !(await exists(folder))) await removeIfThere(path);
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
