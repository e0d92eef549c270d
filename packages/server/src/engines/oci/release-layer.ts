import type { LayerId } from "../../core/layer.ts";
import { readLayerRecord } from "./layer-record.ts";
import type { LayerParts } from "./remove-layer.ts";
import { removePassing } from "./remove-passing.ts";

/** All that were to lie on it do, or never will: it goes with the last of them. */
export async function releaseLayer(parts: LayerParts, id: LayerId): Promise<void> {
  await readLayerRecord(parts.engineFolder, id);
  await parts.layers.change(id, { lent: false });
  parts.layers.making.delete(id);
  await removePassing(parts);
}
