import { AppError } from "../../core/errors.ts";
import { listLayerRecords } from "./layer-record.ts";
import { countUses } from "./layer-uses.ts";
import { type LayerParts, removeLayer } from "./remove-layer.ts";

/** Layers that were made for sandboxes to lie on go with the last of them, and those below them likewise. */
export async function removePassing(parts: LayerParts): Promise<void> {
  const known = await listLayerRecords(parts.engineFolder, () => undefined);
  const passing = known.filter((layer) => layer.passing && !layer.lent);
  let uses = await countUses(parts.engineFolder);
  // Those that lie on others first.
  for (const { id } of passing.sort((left, right) => right.below.length - left.below.length)) {
    if (uses.has(id)) continue;
    await removeLayer(parts, id).catch((error: unknown) => {
      if (!(error instanceof AppError && (error.code === "conflict" || error.code === "not_found"))) throw error;
    });
    uses = await countUses(parts.engineFolder);
  }
}
