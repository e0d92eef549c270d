import type { LayerId } from "../../core/layer.ts";
import type { Layers } from "../../core/layer-builder.ts";

/** Layers that were there before this daemon made any. A killed daemon left those that no record names. */
export async function formerLayers(
  layers: Pick<Layers, "list">,
  onError: (error: unknown) => void,
): Promise<Set<LayerId>> {
  const found = await layers.list().catch((error: unknown) => {
    onError(error);
    return [];
  });
  return new Set(found.map(({ id }) => id));
}
