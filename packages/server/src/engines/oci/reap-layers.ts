import { existsSync } from "node:fs";
import { readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, errnoOf } from "../../core/errors.ts";
import { type LayerId, layerId } from "../../core/layer.ts";
import { engineLimits } from "../limits.ts";
import { ownVolume } from "./freeze.ts";
import {
  draftFolder,
  findLayerRecord,
  type LayerRecord,
  layerFolder,
  layersFolder,
  volumePath,
} from "./layer-record.ts";
import type { EngineParts } from "./parts.ts";
import { readRecord } from "./record.ts";
import { settleGone } from "./remove-layer.ts";
import { removePassing } from "./remove-passing.ts";
import { removeTree } from "./remove-tree.ts";

type ReapParts = Pick<EngineParts, "engineFolder" | "helper" | "layers" | "onError">;

type Owns = (sandboxId: string) => boolean;

/**
 * Ends what killed engines were doing to layers: of each nothing is left, or all of it. What a process of a killed helper
 * still holds, in the midst of a copy, is looked at again until that has ended too.
 */
export async function reapLayers(parts: ReapParts, owns: Owns): Promise<void> {
  if (!(await reapOnce(parts, owns))) void reapAgain(parts, owns).catch(parts.onError);
}

async function reapAgain(parts: ReapParts, owns: Owns): Promise<void> {
  for (const deadline = Date.now() + 2 * engineLimits.startTimeoutMs; Date.now() < deadline; ) {
    await sleep(engineLimits.reapAgainMs, undefined, { ref: false });
    if (parts.helper.dead) return;
    if (await reapOnce(parts, owns)) return removePassing(parts);
  }
}

/** Whether nothing is left that somebody might be making. */
async function reapOnce(parts: ReapParts, owns: Owns): Promise<boolean> {
  let done = true;
  const look = async (act: Promise<boolean>) => {
    try {
      if (!(await act)) done = false;
    } catch (error) {
      parts.onError(error);
    }
  };
  const names = await readdir(layersFolder(parts.engineFolder)).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  });
  for (const name of names) {
    if (layerId.test(name)) await look(reapLayer(parts, name, owns));
    const [, kind, id] = /^\.(new|gone)-(.*)$/.exec(name) ?? [];
    if (id === undefined || !layerId.test(id)) continue;
    await look(kind === "gone" ? settleGone(parts, id).then(() => true) : reapDraft(parts, id, owns));
  }
  return done;
}

/** Whose maker was killed before its digest was known, has it soon. */
async function reapLayer(parts: ReapParts, id: LayerId, owns: Owns): Promise<boolean> {
  const layer = await findLayerRecord(layerFolder(parts.engineFolder, id), id);
  if (layer === undefined) return true;
  if (layer.digest === null) parts.layers.learnDigest(layer);
  return layer.lent ? reapLent(parts, layer, owns) : true;
}

/** Whoever lends one holds the lock of the sandbox that it is made of, until all copies lie on it. */
async function reapLent(parts: ReapParts, layer: LayerRecord, owns: Owns): Promise<boolean> {
  return whenUnmade(parts, layer, owns, () => parts.layers.change(layer.id, { lent: false }));
}

/** Whoever makes it holds the lock of the sandbox that it is made of. */
async function reapDraft(parts: ReapParts, id: LayerId, owns: Owns): Promise<boolean> {
  const { engineFolder, helper } = parts;
  const draft = draftFolder(engineFolder, id);
  const layer = await findLayerRecord(draft, id);
  if (layer === undefined) {
    const age = await stat(draft).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (age > engineLimits.startTimeoutMs) await removeTree(draft, id, helper);
    return !existsSync(draft);
  }
  const folder = join(engineFolder, "sandboxes", layer.sandbox);
  return whenUnmade(parts, layer, owns, () =>
    existsSync(folder) ? finishDraft(parts, draft, layer, folder, owns(layer.sandbox)) : removeTree(draft, id, helper),
  );
}

/** False where whoever makes it may live: the sandbox has an owner, and that is not this engine, or it makes it itself. */
async function whenUnmade(
  parts: ReapParts,
  { id, sandbox }: LayerRecord,
  owns: Owns,
  act: () => Promise<void>,
): Promise<boolean> {
  const folder = join(parts.engineFolder, "sandboxes", sandbox);
  if (parts.layers.making.has(id)) return true;
  if (existsSync(folder) && !owns(sandbox)) return whenUnowned(parts, folder, act);
  await act();
  return true;
}

async function whenUnowned({ helper }: ReapParts, folder: string, act: () => Promise<void>): Promise<boolean> {
  try {
    await helper.request("lock", [["folder", folder]]);
  } catch (error) {
    if (error instanceof AppError && error.details?.errno === "EAGAIN") return false;
    throw error;
  }
  try {
    await act();
  } finally {
    await helper.request("unlock", [["folder", folder]]);
  }
  return true;
}

/** The sandbox's record decides: where it names the layer, the volume belongs there. One that is in use has its own. */
async function finishDraft(
  parts: ReapParts,
  draft: string,
  layer: LayerRecord,
  folder: string,
  inUse: boolean,
): Promise<void> {
  const record = await readRecord(folder, layer.sandbox);
  if (record?.layers.base !== layer.id) return removeTree(draft, layer.id, parts.helper);
  if (inUse) return;
  const volume = ownVolume(folder, layer.kind);
  const place = volumePath(draft, layer.kind);
  if (!existsSync(place)) await rename(volume, place);
  await rename(draft, layerFolder(parts.engineFolder, layer.id));
  if (layer.lent) await parts.layers.change(layer.id, { lent: false });
}
