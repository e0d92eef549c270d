import { AppError } from "../../core/errors.ts";
import type { Collector, Freed } from "../../core/gc.ts";
import type { LayerId, LayerInfo } from "../../core/layer.ts";
import type { Layers } from "../../core/layer-builder.ts";
import type { Clock } from "../../lib/clock.ts";
import { gcLimits } from "./limits.ts";

interface LayerCollectorParts {
  layers: Layers;
  /** Layers that images and templates name. Every kind of record that names layers is among them. */
  named: readonly (() => Iterable<LayerId | null> | Promise<Iterable<LayerId | null>>)[];
  /** True once the maker of a layer has had time to write the record that names it. */
  isSettled: (layer: LayerInfo) => boolean;
  /** Counted by another kind. */
  elsewhere?: () => readonly LayerId[];
}

/** One so young may belong to an image or a copy that has no record yet. */
export function isOld({ wallMs }: Pick<Clock, "wallMs">): LayerCollectorParts["isSettled"] {
  return ({ createdAt }) => Date.parse(createdAt) <= wallMs() - gcLimits.layerGraceMs;
}

/** Frozen volumes that no record, no sandbox and no other layer needs. Those below one that goes may go after it. */
export function layerCollector({ layers, named, isSettled, elsewhere }: LayerCollectorParts): Collector {
  const unused = async (all: readonly LayerInfo[]) => {
    const wanted = new Set<LayerId | null>();
    for (const ids of await Promise.all(named.map((of) => of()))) for (const id of ids) wanted.add(id);
    return all.filter((layer) => layer.uses === 0 && !wanted.has(layer.id) && isSettled(layer));
  };
  return {
    kind: "layers",
    budgetBytes: gcLimits.budgetBytes.layers,
    look: async () => {
      const all = await layers.list();
      const others = new Set(elsewhere?.() ?? []);
      return { bytes: sum(all.filter(({ id }) => !others.has(id))), unused: freedOf(await unused(all)), cacheBytes: 0 };
    },
    collect: async () => {
      const freed: Freed = { items: 0, bytes: 0 };
      for (;;) {
        let gone = 0;
        for (const { id, bytes } of await unused(await layers.list())) {
          if (!(await tryRemove(layers, id))) continue;
          gone++;
          freed.items++;
          freed.bytes += bytes;
        }
        if (gone === 0) return freed;
      }
    },
  };
}

/** False where somebody began to use it, or had removed it already. */
async function tryRemove(layers: Layers, id: LayerId): Promise<boolean> {
  try {
    await layers.remove(id);
    return true;
  } catch (error) {
    if (error instanceof AppError && (error.code === "conflict" || error.code === "not_found")) return false;
    throw error;
  }
}

function sum(layers: readonly LayerInfo[]): number {
  return layers.reduce((total, { bytes }) => total + bytes, 0);
}

function freedOf(layers: readonly LayerInfo[]): Freed {
  return { items: layers.length, bytes: sum(layers) };
}
