import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { LayerId } from "../../core/layer.ts";
import { layersOfCheckpoints } from "./kept-checkpoints.ts";
import { heldLayers } from "./layer-holds.ts";
import { listLayerRecords } from "./layer-record.ts";
import { readRecord, type SandboxRecord } from "./record.ts";
import { isSandboxId } from "./sandbox-folder.ts";

type OnUnreadable = (error: unknown) => undefined;

/** A record that cannot be read may need any layer. */
const refuse: OnUnreadable = (error) => {
  throw error;
};

/** Of all sandboxes. */
export async function listRecords(engineFolder: string, onUnreadable = refuse): Promise<SandboxRecord[]> {
  const sandboxes = join(engineFolder, "sandboxes");
  const ids = (await readdir(sandboxes)).filter(isSandboxId);
  const found = await Promise.all(ids.map((id) => readRecord(join(sandboxes, id), id).catch(onUnreadable)));
  return found.filter((record) => record !== undefined);
}

/** How many sandboxes, checkpoints, saved memories and layers need each layer. */
export async function countUses(engineFolder: string, onUnreadable = refuse): Promise<Map<LayerId, number>> {
  const uses = new Map<LayerId, number>();
  const count = (ids: Iterable<LayerId | null>) => {
    for (const id of new Set(ids)) if (id !== null) uses.set(id, (uses.get(id) ?? 0) + 1);
  };
  for (const { layers } of await listRecords(engineFolder, onUnreadable)) count(Object.values(layers));
  for (const layers of await layersOfCheckpoints(engineFolder, onUnreadable)) count(Object.values(layers));
  for (const layers of await heldLayers(engineFolder, onUnreadable)) count(Object.values(layers));
  for (const { below } of await listLayerRecords(engineFolder, onUnreadable)) count(below);
  return uses;
}
