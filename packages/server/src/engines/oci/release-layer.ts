import type { LayerId } from "../../core/layer.ts";
import { readLayerRecord } from "./layer-record.ts";
import type { Live } from "./live.ts";
import type { LayerParts } from "./remove-layer.ts";
import { removePassing } from "./remove-passing.ts";

/** All that were to lie on it do, or never will: it goes with the last of them. */
export async function releaseLayer(parts: LayerParts, id: LayerId): Promise<void> {
  await readLayerRecord(parts.engineFolder, id);
  await parts.layers.change(id, { lent: false });
  parts.layers.making.delete(id);
  await removePassing(parts);
}

/** Unmounts a layer that no sandbox of this engine lies on while it runs. */
export async function restLayer(parts: LayerParts, id: LayerId, live: () => readonly Live[]): Promise<void> {
  const named = () => live().flatMap(({ record }) => [record?.layers.root ?? null, record?.layers.base ?? null]);
  const chains = await Promise.all(named().map((name) => (name === null ? [] : parts.layers.chain(name))));
  if (chains.flat().some((layer) => layer.id === id)) return;
  if (!named().includes(id) && !parts.layers.making.has(id)) await parts.layers.rest(id);
}
