import { lstat, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxSpec } from "../../core/engine.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
import { checkpointLimits } from "../../core/fork-limits.ts";
import { listHolds } from "./layer-holds.ts";
import { isLayers, isLimits, type LayersOfSandbox } from "./record.ts";

/** What an engine must know of a checkpoint to go on from it; written by this engine alone, in a folder that is root's. */
export interface KeptCheckpoint {
  id: string;
  spec: SandboxSpec;
  hasInput: boolean;
  bundle: string;
  layers: LayersOfSandbox;
  /** Memory that a sandbox takes at once when it goes on from it. */
  heldBytes: number;
  /** Of the programs that it counts on; none where it was kept without. */
  host: string | null;
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
  return new AppError("not_found", `unknown checkpoint ${JSON.stringify(id).slice(0, 80)}`);
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

/** One that is damaged says so, and can still be removed. */
export async function readCheckpoint(engineFolder: string, id: string): Promise<KeptCheckpoint> {
  const path = join(checkpointFolder(engineFolder, id), recordName);
  try {
    if ((await lstat(path)).size > checkpointLimits.recordBytes) throw damaged(id);
    return parseCheckpoint(id, await readFile(path, "utf8"));
  } catch (error) {
    if (errnoOf(error) === "ENOENT") throw noCheckpoint(id);
    throw error;
  }
}

export function parseCheckpoint(id: string, text: string): KeptCheckpoint {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw damaged(id, cause);
  }
  if (!isKeptCheckpoint(value) || value.id !== id) throw damaged(id);
  const { spec, hasInput, bundle, layers, heldBytes = spec.limits.memoryBytes, host = null } = value;
  return { id, spec, hasInput, bundle, layers, heldBytes, host };
}

function damaged(id: string, cause?: unknown): AppError {
  return new AppError("unavailable", `the record of checkpoint ${id} is damaged`, {
    hint: "delete the checkpoint if it is not needed; until then its layers are kept",
    cause,
  });
}

type Later = "heldBytes" | "host";
type Written = Omit<KeptCheckpoint, Later> & Partial<Pick<KeptCheckpoint, Later>>;

function isKeptCheckpoint(value: unknown): value is Written {
  if (typeof value !== "object" || value === null || !("version" in value) || value.version !== version) return false;
  const { id, spec, hasInput, bundle, layers, heldBytes = 1, host = null } = value as Partial<Written>;
  return (
    typeof id === "string" &&
    typeof hasInput === "boolean" &&
    typeof bundle === "string" &&
    isLayers(layers) &&
    typeof spec === "object" &&
    spec !== null &&
    isLimits(spec.limits) &&
    Number.isSafeInteger(heldBytes) &&
    heldBytes > 0 &&
    (host === null || typeof host === "string")
  );
}

export async function listCheckpoints(engineFolder: string): Promise<string[]> {
  return (await namesIn(engineFolder)).filter((name) => pattern.test(name));
}

async function namesIn(engineFolder: string): Promise<string[]> {
  return readdir(folderOf(engineFolder)).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  });
}

/** What kept checkpoints lie on. One that cannot be read may need any layer. */
export async function layersOfCheckpoints(
  engineFolder: string,
  onUnreadable: (error: unknown) => undefined,
): Promise<LayersOfSandbox[]> {
  const ids = await listCheckpoints(engineFolder);
  const found = ids.map((id) =>
    readCheckpoint(engineFolder, id).then(
      ({ layers }) => layers,
      (error: unknown) => {
        if (error instanceof AppError && error.code === "not_found") return undefined; // removed meanwhile
        return onUnreadable(error);
      },
    ),
  );
  return (await Promise.all(found)).filter((layers) => layers !== undefined);
}

/** What engines left that were killed while they wrote one: whoever does holds its memory. */
export async function reapCheckpoints(engineFolder: string): Promise<void> {
  const drafts = (await namesIn(engineFolder)).filter((name) => name.startsWith(".") && pattern.test(name.slice(1)));
  const held = new Set(await listHolds(engineFolder));
  for (const name of drafts)
    if (!held.has(name.slice(1))) await rm(join(folderOf(engineFolder), name), { recursive: true, force: true });
}

/** Its record goes first: what is left without one is nothing. */
export async function removeCheckpoint(engineFolder: string, id: string): Promise<void> {
  const folder = checkpointFolder(engineFolder, id);
  await rm(join(folder, recordName), { force: true });
  await rm(folder, { recursive: true, force: true });
}
