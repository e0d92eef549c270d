import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, errnoOf, messageOf } from "../../core/errors.ts";
import type { LayerId } from "../../core/layer.ts";
import { Turn } from "../../lib/turn.ts";
import { layerLimits } from "../layer-limits.ts";
import type { Argument, HelperClient } from "./helper-client.ts";
import {
  type LayerRecord,
  layerFolder,
  layersFolder,
  readLayerRecord,
  volumePath,
  writeLayerRecord,
} from "./layer-record.ts";
import { listRecords } from "./layer-uses.ts";
import type { LayersOfSandbox } from "./record.ts";
import { backingFile } from "./remove-sandbox.ts";

/** The layers that this engine's helper has mounted: each once, for all its sandboxes, its digest checked before (S64). */
export class LayerMounts {
  readonly #engineFolder: string;
  readonly #helper: HelperClient;
  readonly #onError: (error: unknown) => void;
  /** By which device. */
  readonly #mounted = new Map<LayerId, Promise<string>>();
  /** Being unmounted. */
  readonly #resting = new Map<LayerId, Promise<void>>();
  readonly #digests = new Set<LayerId>();
  readonly #changes = new Turn();
  /** Those that this engine makes or lends just now. */
  readonly making = new Set<LayerId>();

  constructor(engineFolder: string, helper: HelperClient, onError: (error: unknown) => void) {
    this.#engineFolder = engineFolder;
    this.#helper = helper;
    this.#onError = onError;
  }

  /** A layer and those below it, the nearest first. */
  async chain(id: LayerId): Promise<LayerRecord[]> {
    const top = await readLayerRecord(this.#engineFolder, id);
    return [top, ...(await Promise.all(top.below.map((below) => readLayerRecord(this.#engineFolder, below))))];
  }

  /** What the helper is told of what a sandbox lies on. The sandbox's record names the layers already: none goes away. */
  async use({ root, base }: LayersOfSandbox): Promise<Argument[]> {
    const of = async (key: string, id: LayerId | null) =>
      id === null ? [] : Promise.all((await this.chain(id)).map((layer) => this.#use(key, layer)));
    return [...(await of("root", root)), ...(await of("lower", base))];
  }

  async #use(key: string, layer: LayerRecord): Promise<Argument> {
    const { id, kind, uidBase } = layer;
    const folder = layerFolder(this.#engineFolder, id);
    if (kind === "folder") return [key, `${uidBase}:${volumePath(folder, kind)}`];
    const known = this.#mounted.get(id) ?? this.#mount(layer, folder);
    this.#mounted.set(id, known);
    try {
      await known;
    } catch (error) {
      this.#mounted.delete(id);
      throw error;
    }
    return [key, `${uidBase}:${join(this.#place(), id)}`];
  }

  async #mount(layer: LayerRecord, folder: string): Promise<string> {
    await this.#resting.get(layer.id)?.catch(() => undefined);
    await mkdir(this.#place(), { recursive: true, mode: 0o700 });
    const image = volumePath(folder, layer.kind);
    try {
      const reply = await this.#helper.request("layer-mount", [
        ["id", layer.id],
        ["folder", this.#place()],
        ["image", image],
        ...(layer.digest === null ? [] : [["digest", layer.digest] as const]),
      ]);
      if (layer.digest === null) this.learnDigest(layer);
      return reply.device ?? "";
    } catch (error) {
      throw new AppError("unavailable", `cannot use layer ${layer.id}: ${messageOf(error)}`, { cause: error });
    }
  }

  /** Of a layer that was needed at once: it is written down a moment later, and checked by whoever mounts it next. */
  learnDigest(layer: LayerRecord): void {
    if (layer.kind !== "image" || this.#digests.has(layer.id)) return;
    this.#digests.add(layer.id);
    void this.#learn(layer).catch(this.#onError);
  }

  async #learn({ id }: LayerRecord): Promise<void> {
    const folder = layerFolder(this.#engineFolder, id);
    const args: Argument[] = [
      ["id", id],
      ["image", volumePath(folder, "image")],
    ];
    const reply = await this.#helper.request("layer-digest", args).catch(() => undefined); // removed, or the engine ends
    if (reply?.digest === undefined) return;
    await this.change(id, { digest: reply.digest });
  }

  /** What its record says from now on; of one that is gone nothing. Changes of this engine take turns. */
  change(id: LayerId, changes: Partial<Pick<LayerRecord, "digest" | "lent">>): Promise<void> {
    return this.#changes.take(async () => {
      const record = await readLayerRecord(this.#engineFolder, id).catch(ignoreMissing);
      if (record === undefined) return;
      await writeLayerRecord(layerFolder(this.#engineFolder, id), { ...record, ...changes }).catch(ignoreMissing);
    });
  }

  /** Nothing uses it now. The next use mounts it again, its digest checked again. */
  async rest(id: LayerId): Promise<void> {
    const mounted = this.#mounted.get(id);
    if (mounted === undefined) return;
    this.#mounted.delete(id);
    this.#digests.delete(id);
    const resting = mounted
      .then(() => this.#helper.request("cancel", [["id", id]]))
      .then(async () => void (await this.#helper.request("layer-unmount", [["id", id]])));
    this.#resting.set(id, resting);
    await resting.finally(() => this.#resting.delete(id));
  }

  /** Nothing of this engine needs it any more. */
  async forget(id: LayerId): Promise<void> {
    await this.#helper.request("cancel", [["id", id]]);
    if (!this.#mounted.has(id)) return;
    this.#mounted.delete(id);
    await this.#helper.request("layer-unmount", [["id", id]]);
  }

  /** After the helper's end: its devices are gone a moment later, but for those that sandboxes hold which go on. */
  async released(): Promise<void> {
    const held = await this.#heldBySandboxes();
    const deadline = Date.now() + layerLimits.closeTimeoutMs;
    for (const [id, mounting] of this.#mounted) {
      const device = held.has(id) ? undefined : await mounting.catch(() => undefined);
      const image = volumePath(layerFolder(this.#engineFolder, id), "image");
      while (device !== undefined && Date.now() < deadline && (await backingFile(device)) === image) await sleep(2);
    }
  }

  async #heldBySandboxes(): Promise<Set<LayerId>> {
    const held = new Set<LayerId>();
    for (const { layers, kept } of await listRecords(this.#engineFolder, () => undefined))
      for (const id of kept === null || kept.stopped ? [] : [layers.root, layers.base])
        if (id !== null) for (const layer of await this.chain(id).catch(() => [])) held.add(layer.id);
    return held;
  }

  /** In the helper's own mount namespace a tmpfs. */
  #place(): string {
    return join(layersFolder(this.#engineFolder), "mounted");
  }
}

function ignoreMissing(error: unknown): undefined {
  if (errnoOf(error) === "ENOENT" || (error instanceof AppError && error.code === "not_found")) return undefined;
  throw error;
}
