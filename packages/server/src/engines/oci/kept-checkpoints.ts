import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxSpec } from "../../core/engine.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
import { type LayersOfSandbox, noLayers } from "./record.ts";

/** What an engine must know of a checkpoint to go on from it; written by this engine alone, in a folder that is root's. */
export interface KeptCheckpoint {
  id: string;
  spec: SandboxSpec;
  hasInput: boolean;
  bundle: string;
  layers: LayersOfSandbox;
}

const recordName = "checkpoint.json";
const version = 1;
const pattern = /^[a-z2-7]{16}$/;
const folderOf = (engineFolder: string) => join(engineFolder, "checkpoints");

export function checkpointFolder(engineFolder: string, id: string): string {
  if (!pattern.test(id)) throw noCheckpoint(id);
  return join(folderOf(engineFolder), id);
}

export const memoryPath = (folder: string) => join(folder, "memory.sealed");

export function noCheckpoint(id: string): AppError {
  return new AppError("not_found", `there is no checkpoint ${JSON.stringify(id).slice(0, 80)}`);
}

/** Whole, or not at all: `seal` writes what is large into the folder before it gets its name. */
export async function writeCheckpoint(
  engineFolder: string,
  kept: KeptCheckpoint,
  seal: (folder: string) => Promise<void>,
): Promise<void> {
  const draft = join(folderOf(engineFolder), `.${kept.id}`);
  await mkdir(draft, { recursive: true, mode: 0o700 });
  try {
    await seal(draft);
    await writeFile(join(draft, recordName), JSON.stringify({ version, ...kept }), { mode: 0o600, flush: true });
    await rename(draft, checkpointFolder(engineFolder, kept.id));
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

export async function readCheckpoint(engineFolder: string, id: string): Promise<KeptCheckpoint> {
  try {
    const text = await readFile(join(checkpointFolder(engineFolder, id), recordName), "utf8");
    const { version: found, ...kept } = JSON.parse(text) as KeptCheckpoint & { version: number };
    if (found !== version || kept.id !== id)
      throw new AppError("internal", `the record of checkpoint ${id} is damaged`);
    return kept;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") throw noCheckpoint(id);
    throw error;
  }
}

export async function listCheckpoints(engineFolder: string): Promise<string[]> {
  const names = await readdir(folderOf(engineFolder)).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  });
  return names.filter((name) => pattern.test(name));
}

/** What kept checkpoints lie on. One that cannot be read may need any layer: it is an error. */
export async function layersOfCheckpoints(engineFolder: string): Promise<LayersOfSandbox[]> {
  const ids = await listCheckpoints(engineFolder);
  const found = ids.map((id) =>
    readCheckpoint(engineFolder, id).then(
      ({ layers }) => layers,
      (error: unknown) => {
        if (error instanceof AppError && error.code === "not_found") return noLayers; // removed meanwhile
        throw error;
      },
    ),
  );
  return Promise.all(found);
}

/** Its record goes first: what is left without one is nothing. */
export async function removeCheckpoint(engineFolder: string, id: string): Promise<void> {
  const folder = checkpointFolder(engineFolder, id);
  await rm(join(folder, recordName), { force: true });
  await rm(folder, { recursive: true, force: true });
}
