import { existsSync } from "node:fs";
import { readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../../core/errors.ts";
import { type LayerId, layerId } from "../../core/layer.ts";
import { engineLimits } from "../../core/limits.ts";
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
import { removeTree } from "./remove-tree.ts";

type ReapParts = Pick<EngineParts, "engineFolder" | "helper" | "layers" | "onError">;

/** Ends what killed engines were doing to layers: of each nothing is left, or all of it. */
export async function reapLayers(parts: ReapParts): Promise<void> {
  const names = await readdir(layersFolder(parts.engineFolder)).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  });
  for (const name of names) {
    if (layerId.test(name)) await reapLayer(parts, name).catch(parts.onError);
    const [, kind, id] = /^\.(new|gone)-(.*)$/.exec(name) ?? [];
    if (id === undefined || !layerId.test(id)) continue;
    await (kind === "gone" ? settleGone(parts, id) : reapDraft(parts, id)).catch(parts.onError);
  }
}

/** Whose maker was killed before its digest was known, has it soon. */
async function reapLayer(parts: ReapParts, id: LayerId): Promise<void> {
  const layer = await findLayerRecord(layerFolder(parts.engineFolder, id), id);
  if (layer === undefined) return;
  if (layer.digest === null) parts.layers.learnDigest(layer);
  if (layer.lent) await reapLent(parts, layer);
}

/** Whoever lends one holds the lock of the sandbox that it is made of, until all copies lie on it. */
async function reapLent(parts: ReapParts, { id, sandbox }: LayerRecord): Promise<void> {
  const folder = join(parts.engineFolder, "sandboxes", sandbox);
  const settle = () => parts.layers.change(id, { lent: false });
  if (existsSync(folder)) await whenUnowned(parts, folder, settle);
  else await settle();
}

/** Whoever makes it holds the lock of the sandbox that it is made of. */
async function reapDraft(parts: ReapParts, id: LayerId): Promise<void> {
  const { engineFolder, helper } = parts;
  const draft = draftFolder(engineFolder, id);
  const layer = await findLayerRecord(draft, id);
  if (layer === undefined) {
    const age = await stat(draft).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (age > engineLimits.startTimeoutMs) await removeTree(draft, id, helper);
    return;
  }
  const folder = join(engineFolder, "sandboxes", layer.sandbox);
  if (!existsSync(folder)) return removeTree(draft, id, helper);
  await whenUnowned(parts, folder, () => finishDraft(parts, draft, layer, folder));
}

async function whenUnowned({ helper }: ReapParts, folder: string, act: () => Promise<void>): Promise<void> {
  try {
    await helper.request("lock", [["folder", folder]]);
  } catch (error) {
    if (error instanceof AppError && error.details?.errno === "EAGAIN") return;
    throw error;
  }
  try {
    await act();
  } finally {
    await helper.request("unlock", [["folder", folder]]);
  }
}

/** The sandbox's record decides: where it names the layer, the volume belongs there. */
async function finishDraft(parts: ReapParts, draft: string, layer: LayerRecord, folder: string): Promise<void> {
  const record = await readRecord(folder, layer.sandbox);
  if (record?.layers.base !== layer.id) return removeTree(draft, layer.id, parts.helper);
  const volume = ownVolume(folder, layer.kind);
  const place = volumePath(draft, layer.kind);
  if (!existsSync(place)) await rename(volume, place);
  await rename(draft, layerFolder(parts.engineFolder, layer.id));
  if (layer.lent) await parts.layers.change(layer.id, { lent: false });
}
