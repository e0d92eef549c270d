import { rename, truncate } from "node:fs/promises";
import { AppError, errnoOf, messageOf } from "../../core/errors.ts";
import type { LayerId } from "../../core/layer.ts";
import { findLayerRecord, goneFolder, layerFolder, noLayer, readLayerRecord, volumePath } from "./layer-record.ts";
import { countUses } from "./layer-uses.ts";
import type { EngineParts } from "./parts.ts";
import { removeTree } from "./remove-tree.ts";

export type LayerParts = Pick<EngineParts, "engineFolder" | "helper" | "layers">;

/**
 * A sandbox names its layers in its record and looks for them then; a layer leaves its name and looks for records then.
 * So of the two one at least sees the other.
 */
export async function removeLayer(parts: LayerParts, id: LayerId): Promise<void> {
  const { engineFolder } = parts;
  await readLayerRecord(engineFolder, id);
  const gone = goneFolder(engineFolder, id);
  try {
    await rename(layerFolder(engineFolder, id), gone);
  } catch (error) {
    throw errnoOf(error) === "ENOENT" ? noLayer(id) : error;
  }
  const uses = await settleGone(parts, id);
  if (uses > 0)
    throw new AppError("conflict", `layer ${id} is used by ${uses} sandboxes or layers`, {
      hint: "destroy or remove them first",
      details: { uses },
    });
}

/** Ends a removal, or takes it back where something needs the layer, or may: how many do. */
export async function settleGone({ engineFolder, helper, layers }: LayerParts, id: LayerId): Promise<number> {
  const gone = goneFolder(engineFolder, id);
  const takeBack = () => rename(gone, layerFolder(engineFolder, id)).catch(ignoreMissing);
  const known = await countUses(engineFolder).catch(async (error: unknown) => {
    await takeBack();
    throw mayNeedAny(error);
  });
  const uses = known.get(id) ?? 0;
  if (uses > 0) {
    await takeBack();
    return uses;
  }
  await layers.forget(id);
  const record = await findLayerRecord(gone, id).catch(() => undefined);
  // Another engine may still have it mounted, for nobody: its place on the disk is free at once.
  if (record?.kind === "image") await truncate(volumePath(gone, "image"), 0).catch(ignoreMissing);
  await removeTree(gone, id, helper);
  return 0;
}

function mayNeedAny(error: unknown): AppError {
  return new AppError("conflict", `cannot remove a layer while its users are unknown: ${messageOf(error)}`, {
    hint: "delete or restore the damaged sandbox or layer",
    cause: error,
  });
}

function ignoreMissing(error: unknown): void {
  if (errnoOf(error) !== "ENOENT") throw error;
}
