import { lstat, mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../../core/errors.ts";
import { type LayerId, layerId } from "../../core/layer.ts";
import { layerLimits } from "../layer-limits.ts";

/**
 * What the engine knows of a layer; written into its folder before the folder gets its name, beside `volume.img`, a file
 * that this engine formatted and only the kernel has written (hazard 9), or `volume`, a plain folder.
 */
export interface LayerRecord {
  id: LayerId;
  kind: "image" | "folder";
  digest: string | null;
  /** First host uid of the sandbox that wrote it. */
  uidBase: number;
  below: readonly LayerId[];
  /** Whether it holds an input folder, beside workspace and home. */
  hasInput: boolean;
  createdAt: string;
  /** The sandbox that it was frozen from. */
  sandbox: string;
  /** It goes when nothing lies on it any more. */
  passing: boolean;
  /** Not yet: its copies are being made. */
  lent: boolean;
  /** Of one that is made for copies: what they go back to when they are reset. It lies below. */
  origin?: LayerId | null;
}

const version = 1;
const recordName = "layer.json";

export const layersFolder = (engineFolder: string) => join(engineFolder, "layers");
export const layerFolder = (engineFolder: string, id: LayerId) => join(layersFolder(engineFolder), id);
/** Where a layer comes to be, and where it goes to be removed: names that no layer has. */
export const draftFolder = (engineFolder: string, id: LayerId) => join(layersFolder(engineFolder), `.new-${id}`);
export const goneFolder = (engineFolder: string, id: LayerId) => join(layersFolder(engineFolder), `.gone-${id}`);

export function volumePath(folder: string, kind: LayerRecord["kind"]): string {
  return join(folder, kind === "image" ? "volume.img" : "volume");
}

export function noLayer(id: string): AppError {
  return new AppError("not_found", `unknown layer ${JSON.stringify(id).slice(0, 80)}`);
}

/** Root's alone: nothing but the helper opens what lies there. */
export async function makeLayersFolder(engineFolder: string): Promise<void> {
  await mkdir(layersFolder(engineFolder), { recursive: true, mode: 0o700 });
}

export async function writeLayerRecord(folder: string, record: LayerRecord): Promise<void> {
  const draft = join(folder, `.${recordName}`);
  await writeFile(draft, JSON.stringify({ version, ...record }), { mode: 0o600 });
  await rename(draft, join(folder, recordName));
}

/** Undefined where there is none. */
export async function findLayerRecord(folder: string, id: LayerId): Promise<LayerRecord | undefined> {
  const path = join(folder, recordName);
  try {
    if ((await lstat(path)).size > layerLimits.recordBytes) throw damaged(id);
    return parseLayerRecord(id, await readFile(path, "utf8"));
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

export async function readLayerRecord(engineFolder: string, id: LayerId): Promise<LayerRecord> {
  if (!layerId.test(id)) throw noLayer(id);
  const record = await findLayerRecord(layerFolder(engineFolder, id), id);
  if (record === undefined) throw noLayer(id);
  return record;
}

export async function listLayers(engineFolder: string): Promise<LayerId[]> {
  const names = await readdir(layersFolder(engineFolder)).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  });
  return names.filter((name) => layerId.test(name));
}

export async function listLayerRecords(
  engineFolder: string,
  onUnreadable: (error: unknown) => undefined,
): Promise<LayerRecord[]> {
  const ids = await listLayers(engineFolder);
  const found = await Promise.all(
    ids.map((id) => findLayerRecord(layerFolder(engineFolder, id), id).catch(onUnreadable)),
  );
  return found.filter((record) => record !== undefined);
}

/** What a layer takes of the disk; a plain folder is not measured. */
export async function layerBytes(engineFolder: string, { id, kind }: LayerRecord): Promise<number> {
  if (kind === "folder") return 0;
  return (await stat(volumePath(layerFolder(engineFolder, id), kind))).blocks * 512;
}

export function parseLayerRecord(id: LayerId, text: string): LayerRecord {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw damaged(id, cause);
  }
  if (!isLayerRecord(value) || value.id !== id) throw damaged(id);
  const { kind, digest, uidBase, below, hasInput, createdAt, sandbox, origin } = value;
  const use = {
    passing: value.passing === true,
    lent: value.lent === true,
    ...(origin === undefined ? {} : { origin }),
  };
  return { id, kind, digest, uidBase, below, hasInput, createdAt, sandbox, ...use };
}

function damaged(id: LayerId, cause?: unknown): AppError {
  return new AppError("internal", `the record of layer ${id} is damaged`, {
    hint: "the layer is neither used nor removed",
    cause,
  });
}

const isId = (value: unknown) => typeof value === "string" && layerId.test(value);

function isLayerRecord(value: unknown): value is LayerRecord {
  if (typeof value !== "object" || value === null || !("version" in value) || value.version !== version) return false;
  const { id, kind, digest, uidBase, below, hasInput, createdAt, sandbox, origin } = value as Partial<LayerRecord>;
  return (
    isId(id) &&
    (kind === "image" || kind === "folder") &&
    (digest === null || (typeof digest === "string" && /^[0-9a-f]{64}$/.test(digest))) &&
    Number.isSafeInteger(uidBase) &&
    Number(uidBase) > 0 &&
    Array.isArray(below) &&
    below.length < layerLimits.chain &&
    below.every(isId) &&
    typeof hasInput === "boolean" &&
    typeof createdAt === "string" &&
    !Number.isNaN(Date.parse(createdAt)) &&
    isId(sandbox) &&
    (origin === undefined || origin === null || isId(origin))
  );
}
