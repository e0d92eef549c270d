import type { LayerId } from "../../core/layer.ts";
import type { Layers } from "../../core/layer-builder.ts";

/** Those that were there before anything could be made: what no record names of them, the last daemon was killed over. */
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
