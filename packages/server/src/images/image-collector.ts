import { chooseImage, supersededImages } from "../core/choose-image.ts";
import { AppError } from "../core/errors.ts";
import type { Collector, Freed } from "../core/gc.ts";
import type { ImageRecord } from "../core/image-record.ts";
import type { LayerId } from "../core/layer.ts";
import type { Layers } from "../core/layer-builder.ts";
import type { Caller } from "../core/principal.ts";
import { gcLimits } from "../sandboxes/gc/limits.ts";
import type { ImageBuilds } from "./image-builds.ts";
import type { Images } from "./images.ts";

interface ImageCollectorParts {
  images: Pick<Images, "list">;
  builds: Pick<ImageBuilds, "delete">;
  layers: Pick<Layers, "list">;
  /** Layers that templates need, with or without a sandbox. */
  needed: () => readonly LayerId[];
  /** Image of sandboxes that name none. */
  usual: string;
}

const system: Caller = {
  principal: { id: "system", name: "system", namespace: "default", role: "admin" },
  requestId: "",
};

/** Images that no name leads to any more, because newer ones have it, and that no sandbox and no template is made of. */
export function imageCollector({ images, builds, layers, needed, usual }: ImageCollectorParts): Collector {
  const unused = async (): Promise<ImageRecord[]> => {
    const used = new Set((await layers.list()).filter(({ uses }) => uses > 0).map(({ id }) => id));
    const kept = new Set<LayerId | null>([...used, ...needed(), usualLayer(images.list(), usual)]);
    return supersededImages(images.list()).filter(({ layerId }) => layerId !== null && !kept.has(layerId));
  };
  return {
    kind: "images",
    budgetBytes: gcLimits.budgetBytes.images,
    look: async () => {
      const all = images.list().filter(({ state }) => state === "ready");
      const going = await unused();
      const ids = new Set(going.map(({ id }) => id));
      const things = all.map(({ id, name, bytes }) => ({ id, name, namespace: null, bytes, goes: ids.has(id) }));
      things.sort((left, right) => right.bytes - left.bytes);
      return { bytes: sum(all), unused: freedOf(going), cacheBytes: 0, things: things.slice(0, gcLimits.things) };
    },
    collect: async () => {
      const gone: ImageRecord[] = [];
      for (const record of await unused()) if (await tryDelete(builds, record.id)) gone.push(record);
      return freedOf(gone);
    },
  };
}

function usualLayer(records: readonly ImageRecord[], usual: string): LayerId | null {
  try {
    return chooseImage(records, usual, []).layerId;
  } catch (error) {
    if (error instanceof AppError) return null; // it is not there yet
    throw error;
  }
}

/** False where somebody began to use it, or had deleted it already. */
async function tryDelete(builds: Pick<ImageBuilds, "delete">, id: string): Promise<boolean> {
  try {
    await builds.delete(system, id);
    return true;
  } catch (error) {
    if (error instanceof AppError && (error.code === "conflict" || error.code === "not_found")) return false;
    throw error;
  }
}

function sum(images: readonly ImageRecord[]): number {
  return images.reduce((total, { bytes }) => total + bytes, 0);
}

function freedOf(images: readonly ImageRecord[]): Freed {
  return { items: images.length, bytes: sum(images) };
}
