import type { Clock } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import type { Collector, Freed } from "../../core/gc.ts";
import { gcLimits } from "../../core/gc-limits.ts";
import type { LayerId, LayerInfo } from "../../core/layer.ts";

interface LayerCollectorParts {
  layers: () => Promise<LayerInfo[]>;
  /** Refused while a sandbox or another layer needs it. */
  remove: (id: LayerId) => Promise<void>;
  /** What images, checkpoints and templates name; every kind of record that names layers is among them. */
  named: readonly (() => Iterable<LayerId | null> | Promise<Iterable<LayerId | null>>)[];
  clock: Clock;
}

/** Frozen volumes that no record, no sandbox and no other layer needs. Those below one that goes may go after it. */
export function layerCollector({ layers, remove, named, clock }: LayerCollectorParts): Collector {
  const unused = async (all: readonly LayerInfo[]) => {
    const wanted = new Set<LayerId | null>();
    for (const ids of await Promise.all(named.map((of) => of()))) for (const id of ids) wanted.add(id);
    const old = clock.wallMs() - gcLimits.layerGraceMs;
    return all.filter(({ id, uses, createdAt }) => uses === 0 && !wanted.has(id) && Date.parse(createdAt) <= old);
  };
  return {
    kind: "layers",
    budgetBytes: gcLimits.budgetBytes.layers,
    look: async () => {
      const all = await layers();
      return { bytes: sum(all), unused: freedOf(await unused(all)), cacheBytes: 0 };
    },
    collect: async () => {
      const freed: Freed = { items: 0, bytes: 0 };
      for (;;) {
        let gone = 0;
        for (const { id, bytes } of await unused(await layers())) {
          if (!(await tryRemove(remove, id))) continue;
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
async function tryRemove(remove: LayerCollectorParts["remove"], id: LayerId): Promise<boolean> {
  try {
    await remove(id);
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
