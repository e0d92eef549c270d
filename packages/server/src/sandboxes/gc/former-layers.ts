import type { LayerId, LayerInfo } from "../../core/layer.ts";

/** Those that were there before anything could be made: what no record names of them, the last daemon was killed over. */
export async function formerLayers(
  caisson: { layers(): Promise<LayerInfo[]> },
  onError: (error: unknown) => void,
): Promise<Set<LayerId>> {
  const found = await caisson.layers().catch((error: unknown) => {
    onError(error);
    return [];
  });
  return new Set(found.map(({ id }) => id));
}
