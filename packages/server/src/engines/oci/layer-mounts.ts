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
  readonly #helper: Pick<HelperClient, "request">;
  readonly #onError: (error: unknown) => void;
  /** By which device. */
  readonly #mounted = new Map<LayerId, Promise<string>>();
  /** Starts and running sandboxes that need each. */
  readonly #users = new Map<LayerId, number>();
  /** Mounted ones that nobody needs, in the order in which they were left. */
  readonly #idle = new Set<LayerId>();
  readonly #leaving = new Map<LayerId, Promise<unknown>>();
  /** Devices of unmounted ones, which sandboxes may still hold. */
  readonly #left = new Map<LayerId, Promise<string>>();
  readonly #mostIdle: number;
  readonly #digests = new Set<LayerId>();
  readonly #changes = new Turn();
  /** Those that this engine makes or lends just now. */
  readonly making = new Set<LayerId>();

  constructor(
    engineFolder: string,
    helper: Pick<HelperClient, "request">,
    onError: (error: unknown) => void,
    mostIdle: number = layerLimits.idle,
  ) {
    this.#engineFolder = engineFolder;
    this.#helper = helper;
    this.#onError = onError;
    this.#mostIdle = mostIdle;
  }

  /** A layer and those below it, the nearest first. */
  async chain(id: LayerId): Promise<LayerRecord[]> {
    const top = await readLayerRecord(this.#engineFolder, id);
    return [top, ...(await Promise.all(top.below.map((below) => readLayerRecord(this.#engineFolder, below))))];
  }

  /**
   * Arguments for the helper about the layers that a sandbox lies on. Its record names them already: none goes away. They stay
   * mounted until `release` is called.
   */
  async use({ root, base }: LayersOfSandbox): Promise<{ layers: Argument[]; release: () => void }> {
    const chainOf = async (key: string, id: LayerId | null) =>
      id === null ? [] : (await this.chain(id)).map((layer) => ({ key, layer }));
    const all = [...(await chainOf("root", root)), ...(await chainOf("lower", base))];
    const release = this.#hold(new Set(all.map(({ layer }) => layer.id)));
    try {
      return { layers: await Promise.all(all.map(({ key, layer }) => this.#use(key, layer))), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  #hold(ids: ReadonlySet<LayerId>): () => void {
    for (const id of ids) {
      this.#users.set(id, (this.#users.get(id) ?? 0) + 1);
      this.#idle.delete(id);
    }
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      for (const id of ids) this.#leave(id);
      for (const id of [...this.#idle].slice(0, Math.max(0, this.#idle.size - this.#mostIdle))) void this.#unmount(id);
    };
  }

  #leave(id: LayerId): void {
    const others = (this.#users.get(id) ?? 1) - 1;
    if (others > 0) return void this.#users.set(id, others);
    this.#users.delete(id);
    if (this.#mounted.has(id)) this.#idle.add(id);
  }

  /** Sandboxes that still end have mounts of their own. */
  #unmount(id: LayerId): Promise<unknown> {
    const mounting = this.#mounted.get(id);
    if (mounting !== undefined) this.#left.set(id, mounting);
    this.#idle.delete(id);
    this.#mounted.delete(id);
    const leaving = this.#helper.request("layer-unmount", [["id", id]]);
    const left = () => {
      if (this.#leaving.get(id) === settled) this.#leaving.delete(id);
    };
    const settled = leaving.then(left, left); // a helper that ends leaves all
    this.#leaving.set(id, settled);
    return leaving;
  }

  async #use(key: string, layer: LayerRecord): Promise<Argument> {
    const { id, kind, uidBase } = layer;
    const folder = layerFolder(this.#engineFolder, id);
    if (kind === "folder") return [key, `${uidBase}:${volumePath(folder, kind)}`];
    const known = this.#mounted.get(id) ?? this.#mount(layer, folder, this.#leaving.get(id));
    this.#mounted.set(id, known);
    this.#left.delete(id);
    try {
      await known;
    } catch (error) {
      this.#mounted.delete(id);
      throw error;
    }
    return [key, `${uidBase}:${join(this.#place(), id)}`];
  }

  async #mount(layer: LayerRecord, folder: string, leaving: Promise<unknown> | undefined): Promise<string> {
    await leaving;
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

  /** Unmounts it now if no sandbox needs it. The next use mounts it again, its digest checked again. */
  async rest(id: LayerId): Promise<void> {
    await readLayerRecord(this.#engineFolder, id); // refuses an unknown one
    if (this.#idle.has(id)) await this.#unmount(id);
  }

  /** Nothing of this engine needs it any more. */
  async forget(id: LayerId): Promise<void> {
    await this.#helper.request("cancel", [["id", id]]);
    if (this.#mounted.has(id)) await this.#unmount(id);
    await this.#leaving.get(id);
    this.#left.delete(id);
  }

  /** After the helper's end: its devices are gone a moment later, but for those that sandboxes hold which go on. */
  async released(): Promise<void> {
    const held = await this.#heldBySandboxes();
    const deadline = Date.now() + layerLimits.closeTimeoutMs;
    for (const [id, mounting] of [...this.#mounted, ...this.#left]) {
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
