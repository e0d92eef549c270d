import { existsSync } from "node:fs";
import { mkdir, rename, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../core/errors.ts";
import type { LayerInfo } from "../../core/layer.ts";
import { layerLimits } from "../layer-limits.ts";
import { claimFile, imageName } from "./disk-claims.ts";
import type { Argument } from "./helper-client.ts";
import {
  draftFolder,
  type LayerRecord,
  layerBytes,
  layerFolder,
  listLayerRecords,
  listLayers,
  makeLayersFolder,
  readLayerRecord,
  volumePath,
  writeLayerRecord,
} from "./layer-record.ts";
import { countUses } from "./layer-uses.ts";
import type { Live } from "./live.ts";
import type { EngineParts } from "./parts.ts";
import { type SandboxRecord, writeRecord } from "./record.ts";
import { removeSandbox } from "./remove-sandbox.ts";
import { removeTree } from "./remove-tree.ts";
import { newSandboxId } from "./sandbox-folder.ts";
import { saveKept } from "./start.ts";
import { clearBoundary, stopBoundary, volumeName } from "./stop.ts";
import { openUidRange } from "./uid-range.ts";

/**
 * Ends a sandbox that this engine owns and makes its volume a layer. Of a sandbox that is kept, the record says so before
 * the volume moves: who is killed in between leaves a layer that the next engine finishes (finishDraft). One that is not
 * kept is nobody's before its volume moves, and goes with its half-made layer.
 */
export async function freezeVolume(parts: EngineParts, live: Live, keep: boolean, lent = false): Promise<LayerInfo> {
  const record = live.record;
  if (record === undefined) throw new AppError("conflict", `sandbox ${live.id} was never started`);
  const below = await newChain(parts, record);
  if (keep && record.kept === null)
    throw new AppError("invalid", "an ephemeral sandbox cannot continue without its volume", { hint: "keep: true" });
  const kind = existsSync(join(live.folder, volumeName)) ? "folder" : "image";
  if (keep && kind === "folder") throw noOverlay();
  live.exit.resolve("the sandbox was frozen");
  if (keep) await stopBoundary(parts, live, false);
  else await clearBoundary({ folder: live.folder, cgroup: live.cgroup, helper: parts.helper });
  const isUnused = record.kept?.emptied === true || record.kept?.frozen === true;
  const layer =
    !isUnused && existsSync(ownVolume(live.folder, kind))
      ? await moveVolume(parts, live, { ...newLayer(record, below, live.hasInput, lent), kind }, keep)
      : await unchanged(parts, record);
  if (!keep) await destroy(parts, live);
  return describeLayer(parts, layer);
}

function noOverlay(): AppError {
  return new AppError(
    "unsupported",
    "a sandbox can continue after it is frozen only if its workspace has a size limit",
    {
      hint: "run caisson as root on a host with loop devices, or copy the files with a snapshot",
    },
  );
}

/**
 * Makes the volume of a sandbox whose memory is saved a layer, on which it goes on. The layer goes with the last sandbox
 * that lies on it.
 */
export async function freezeSaved(parts: EngineParts, live: Live): Promise<string> {
  const { record } = live;
  if (record === undefined) throw new AppError("internal", `sandbox ${live.id} has no record`);
  const layer = { ...newLayer(record, await newChain(parts, record), live.hasInput), passing: true };
  return (await moveVolume(parts, live, { ...layer, kind: "image" }, true)).id;
}

/** Refused where its files lie on too many layers already. */
export async function checkChain(parts: EngineParts, { id, record }: Live): Promise<void> {
  if (record === undefined) throw new AppError("conflict", `sandbox ${id} was never started`);
  await newChain(parts, record);
}

/** Copies the volume of a sandbox that runs and goes on. */
export async function copyVolume(parts: EngineParts, live: Live, lent = false): Promise<LayerInfo> {
  const record = live.record;
  if (record === undefined) throw new AppError("conflict", `sandbox ${live.id} was never started`);
  const image = ownVolume(live.folder, "image");
  if (parts.privilege.rootless || !existsSync(image)) throw noOverlay();
  const layer = { ...newLayer(record, await newChain(parts, record), live.hasInput, lent), kind: "image" } as const;
  const { size, blocks } = await stat(image);
  await withDraft(parts, layer, async (draft) => {
    const copy = volumePath(draft, "image");
    await claimFile(copy, size);
    await parts.disk.withRoom(draft, blocks * 512, () => settle(parts, live, [["copy", copy]]));
    await rename(draft, layerFolder(parts.engineFolder, layer.id));
  });
  parts.layers.learnDigest(layer);
  return describeLayer(parts, layer);
}

async function describeLayer({ engineFolder }: EngineParts, record: LayerRecord): Promise<LayerInfo> {
  const uses = await countUses(engineFolder, () => undefined);
  return toInfo(engineFolder, record, uses);
}

export async function describeLayers({ engineFolder, onError }: EngineParts): Promise<LayerInfo[]> {
  const uses = await countUses(engineFolder, (error) => void onError(error));
  const records = await listLayerRecords(engineFolder, () => undefined); // said already
  const found = await Promise.all(records.map((record) => toInfo(engineFolder, record, uses).catch(() => undefined)));
  return found.filter((info) => info !== undefined).sort((a, b) => a.createdAt.localeCompare(b.createdAt));
}

async function toInfo(engineFolder: string, record: LayerRecord, uses: Map<string, number>): Promise<LayerInfo> {
  const { id, digest, below, createdAt } = record;
  return { id, digest, bytes: await layerBytes(engineFolder, record), below, createdAt, uses: uses.get(id) ?? 0 };
}

/** What a new layer of this sandbox lies on. */
async function newChain({ layers, engineFolder }: EngineParts, { layers: { base } }: SandboxRecord): Promise<string[]> {
  const below = base === null ? [] : (await layers.chain(base)).map(({ id }) => id);
  if (below.length >= layerLimits.chain)
    throw new AppError("limit_exceeded", `too many layers below its files (limit: ${below.length})`, {
      hint: "copy the files into a new sandbox with a snapshot",
      details: { unsaveable: true },
    });
  if ((await listLayers(engineFolder)).length >= layerLimits.layers)
    throw new AppError("limit_exceeded", `too many layers (limit: ${layerLimits.layers})`, {
      hint: "remove unused layers: caisson gc",
    });
  return below;
}

function newLayer(
  record: SandboxRecord,
  below: readonly string[],
  hasInput: boolean,
  lent = false,
): Omit<LayerRecord, "kind"> {
  const createdAt = new Date().toISOString();
  const { base: uidBase, id: sandbox } = record;
  const origin = lent ? { origin: record.layers.origin } : {};
  return {
    id: newSandboxId(),
    digest: null,
    uidBase,
    below,
    hasInput,
    createdAt,
    sandbox,
    passing: lent,
    lent,
    ...origin,
  };
}

export function ownVolume(folder: string, kind: LayerRecord["kind"]): string {
  return join(folder, kind === "image" ? imageName : volumeName);
}

/** A sandbox that was not started since it was frozen or reset has no volume of its own. */
async function unchanged({ engineFolder }: EngineParts, { id, layers }: SandboxRecord): Promise<LayerRecord> {
  if (layers.base === null)
    throw new AppError("conflict", `sandbox ${id} has no files since it was reset`, {
      hint: "start it first: caisson start SANDBOX",
    });
  return readLayerRecord(engineFolder, layers.base);
}

async function moveVolume(parts: EngineParts, live: Live, layer: LayerRecord, keep: boolean): Promise<LayerRecord> {
  const { engineFolder } = parts;
  const volume = ownVolume(live.folder, layer.kind);
  return withDraft(parts, layer, async (draft) => {
    const digest = layer.kind === "image" ? await settle(parts, live, keep ? [] : [["digest", 1]]) : null;
    const made = { ...layer, digest };
    await writeLayerRecord(draft, made);
    leaveVolume(parts, live, keep ? layer.id : null);
    await rename(volume, volumePath(draft, layer.kind));
    await rename(draft, layerFolder(engineFolder, layer.id));
    if (digest === null) parts.layers.learnDigest(made);
    return made;
  });
}

/** Says in the sandbox's record what becomes of it. */
function leaveVolume(parts: EngineParts, live: Live, base: string | null): void {
  const { record } = live;
  if (record === undefined) return;
  if (base === null) {
    live.record = { ...record, kept: null };
    writeRecord(live.folder, live.record);
  } else {
    live.record = { ...record, layers: { ...record.layers, base } };
    if (record.kept !== null) saveKept(parts, live, { ...record.kept, frozen: true });
    else writeRecord(live.folder, live.record);
  }
}

/** Clean, and with its digest where it is asked for. */
async function settle({ helper }: EngineParts, live: Live, more: readonly Argument[]): Promise<string | null> {
  const image = ownVolume(live.folder, "image");
  const place = join(live.folder, "freezing");
  await mkdir(place, { recursive: true, mode: 0o700 });
  const reply = await helper
    .request("freeze", [["id", live.id], ["place", place], ["image", image], ...more])
    .finally(() => rmdir(place));
  return reply.digest === undefined || reply.digest === "-" ? null : reply.digest;
}

/** A folder that becomes the layer's; gone again where that fails, unless a sandbox relies on it: then it is finished later. */
async function withDraft<T>(
  { engineFolder, helper, layers }: EngineParts,
  layer: LayerRecord,
  act: (draft: string) => Promise<T>,
): Promise<T> {
  await makeLayersFolder(engineFolder);
  const draft = draftFolder(engineFolder, layer.id);
  layers.making.add(layer.id);
  try {
    await mkdir(draft, { mode: 0o700 });
    await writeLayerRecord(draft, layer);
    const made = await act(draft);
    if (!layer.lent) layers.making.delete(layer.id);
    return made;
  } catch (error) {
    layers.making.delete(layer.id);
    const relied = await countUses(engineFolder).then(
      (uses) => uses.has(layer.id),
      () => true,
    );
    if (!relied) await removeTree(draft, layer.id, helper);
    throw error;
  }
}

async function destroy({ privilege, helper }: EngineParts, live: Live): Promise<void> {
  const range = live.base === undefined ? undefined : openUidRange(privilege.pool, live.base, live.folder);
  await removeSandbox({ folder: live.folder, cgroup: live.cgroup, range, helper });
}
