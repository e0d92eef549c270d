import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { AppError, messageOf } from "../core/errors.ts";
import type { Fleet } from "../core/fleet.ts";
import { type ImageRecord, plainConfig } from "../core/image-record.ts";
import type { ImageSpec } from "../core/image-spec.ts";
import type { Imported, TreeImport, TreeImporter } from "../core/import-tree.ts";
import type { News, Recorder } from "../core/journal.ts";
import type { LayerId, LayerInfo } from "../core/layer.ts";
import type { Caller } from "../core/principal.ts";
import type { Clock } from "../lib/clock.ts";
import { randomId } from "../lib/random-id.ts";
import { type BuildParts, buildImage, buildTree, stepsOf, treeSteps } from "./build-image.ts";
import { BuildLog, readLog, stepMark, stepsIn } from "./build-log.ts";
import { explainFailure, type Progress } from "./build-steps.ts";
import { digestOf } from "./digest.ts";
import { ImageRoom } from "./image-room.ts";
import type { Images } from "./images.ts";
import { buildLimits } from "./limits.ts";

interface BuildFleet extends Pick<Fleet<unknown>, "build"> {
  /** Ends sandboxes that wait in pools with this root. */
  emptyPools: (layerId: LayerId) => Promise<void>;
}

export interface ImageBuildsParts extends BuildParts {
  images: Images;
  /** Folder of the logs. */
  folder: string;
  fleet: BuildFleet;
  /** Layers that templates need, with or without a sandbox. */
  needed: () => readonly LayerId[];
  journal: Recorder;
  clock: Clock;
  onError: (error: unknown) => void;
}

/** An image to be made. */
export interface Draft extends Pick<ImageRecord, "name" | "aliases" | "description" | "source" | "digest" | "config"> {
  steps: readonly string[];
  build: (progress: Progress) => Promise<LayerInfo>;
}

interface Build {
  abort: AbortController;
  log: BuildLog;
  steps: readonly string[];
  done: Promise<void>;
}

/** A message to readers of a log. */
export type LogMessage =
  | { type: "step"; step: string; at: number; of: number }
  | { type: "log"; data: string }
  | { type: "end"; state: ImageRecord["state"]; step: string | null; error: string | null };

/** Makes images from what the machine's own registries have, or of a tree that comes from elsewhere (IMG-02, IMG-04). */
export class ImageBuilds implements TreeImporter, AsyncDisposable {
  readonly #parts: ImageBuildsParts;
  readonly #builds = new Map<string, Build>();
  /** Being inserted, by name and digest: a second import of the same one gets the first one's record. */
  readonly #coming = new Map<string, { caller: Caller; record: Promise<ImageRecord> }>();
  readonly #room = new ImageRoom();

  private constructor(parts: ImageBuildsParts) {
    this.#parts = parts;
  }

  static async open(parts: ImageBuildsParts): Promise<ImageBuilds> {
    await mkdir(parts.folder, { recursive: true, mode: 0o700 });
    return new ImageBuilds(parts);
  }

  /** Removes layers that became no image, once the builders that the last daemon left are gone. */
  async sweep(): Promise<void> {
    const { images } = this.#parts;
    for (const { id, state, layerId } of images.list()) {
      if (state !== "failed" || layerId === null) continue;
      if (!(await this.#removed(layerId))) continue;
      await images.change(id, { layerId: null });
    }
  }

  /** False while a builder that is to be removed needs it. */
  async #removed(layerId: LayerId): Promise<boolean> {
    try {
      await this.#parts.layers.remove(layerId);
      return true;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error.code === "not_found") return true;
      if (error.code === "conflict") return false;
      throw error;
    }
  }

  importFromCatalogue(caller: Caller, name: string): Promise<Imported> {
    const { images } = this.#parts;
    const entry = images.entryOf(name);
    if (entry === undefined)
      throw new AppError("not_found", `unknown image of the catalogue ${JSON.stringify(name).slice(0, 80)}`, {
        hint: `images: ${images.catalogue.map(({ spec }) => spec.name).join(", ")}`,
      });
    return this.#importSpec(caller, entry.spec, "catalogue");
  }

  async importSpec(caller: Caller, text: string): Promise<Imported> {
    const { readSpec } = await import("./read-spec.ts"); // most starts read none
    return this.#importSpec(caller, await readSpec(text), "spec");
  }

  async importTree(caller: Caller, { open, steps = [], namesItself = false, ...draft }: TreeImport): Promise<Imported> {
    if (namesItself) this.#checkFree(draft.name);
    const build = async (progress: Progress) => buildTree(this.#parts, await open(progress), progress);
    return this.import(caller, { ...draft, aliases: [], source: "oci", steps: [...steps, ...treeSteps], build });
  }

  /** A stranger's image is not what sandboxes get who ask for one that was made here. */
  #checkFree(name: string): void {
    const isCalled = (one: { name: string; aliases: readonly string[] }) =>
      one.name === name || one.aliases.includes(name);
    const { images } = this.#parts;
    const isOurs = images.catalogue.some(({ spec }) => isCalled(spec));
    if (!isOurs && !images.list().some((one) => one.source !== "oci" && isCalled(one))) return;
    throw new AppError("conflict", `the name ${name} in the image belongs to an image of the catalogue`, {
      hint: "set another name",
    });
  }

  async settled(id: string): Promise<void> {
    await this.#builds.get(id)?.done;
  }

  #importSpec(caller: Caller, spec: ImageSpec, source: "catalogue" | "spec"): Promise<Imported> {
    const { name, aliases, description, env } = spec;
    const { PATH: searchPath = null, ...others } = env;
    return this.import(caller, {
      ...{ name, aliases, description, source, digest: digestOf(spec), steps: stepsOf(spec) },
      config: { ...plainConfig, env: others, searchPath },
      build: (progress) => buildImage(this.#parts, spec, progress),
    });
  }

  /** Refuses a caller for whom no more images are made. */
  checkRoom(caller: Caller): void {
    this.#room.check(caller, this.#parts.images.list(), [...this.#coming.values()]);
  }

  /** Answers once the build has its place in the queue; it goes on whoever leaves. */
  async import(caller: Caller, draft: Draft): Promise<Imported> {
    const { images } = this.#parts;
    const { name, digest } = draft;
    const same = images.list().find((one) => one.name === name && one.digest === digest && one.state !== "failed");
    if (same !== undefined) return { record: same, isNew: false };
    const key = JSON.stringify([name, digest]);
    const coming = this.#coming.get(key);
    if (coming !== undefined) return { record: await coming.record, isNew: false };
    this.checkRoom(caller);
    const inserted = this.#insert(caller, draft).finally(() => this.#coming.delete(key));
    this.#coming.set(key, { caller, record: inserted });
    const record = await inserted;
    const abort = new AbortController();
    const limit = AbortSignal.any([abort.signal, AbortSignal.timeout(buildLimits.buildMs)]);
    const log = await BuildLog.create(this.#logPath(record.id));
    const { promise: done, resolve } = Promise.withResolvers<void>();
    this.#builds.set(record.id, { abort, log, steps: draft.steps, done });
    const queued = this.#parts.fleet.build(caller, limit, () =>
      this.#build(caller, record.id, draft, { log, signal: limit }),
    );
    void this.#settle(caller, record.id, queued).then(resolve);
    // A queue that is full says so at once, and then there was no build.
    const refused = await Promise.race([
      queued.then(
        () => undefined,
        (error: unknown) => error,
      ),
      nextTurn(undefined),
    ]);
    if (!(refused instanceof AppError && refused.code === "limit_exceeded" && refused.retryAfterMs !== undefined))
      return { record: images.byId(record.id) ?? record, isNew: true };
    await done;
    await this.#forget(record.id);
    throw refused;
  }

  async #insert(caller: Caller, { steps: _, build: __, ...draft }: Draft): Promise<ImageRecord> {
    const record: ImageRecord = {
      ...{ id: randomId(8, "hex"), ...draft, layerId: null, bytes: 0, state: "building", step: null, error: null },
      ...{ createdAtMs: this.#parts.clock.wallMs(), createdBy: caller.principal.id },
    };
    const { id, name, source, digest } = record;
    const data = { image_id: id, name, source, digest };
    await this.#parts.images.insert(record, { type: "image.requested", by: caller, data });
    this.#room.add(caller, id);
    return record;
  }

  async #build(
    caller: Caller,
    id: string,
    { name, steps, build }: Draft,
    { log, signal }: Pick<Progress, "log" | "signal">,
  ): Promise<void> {
    const { images, journal, layers } = this.#parts;
    let at = 0;
    const begin = async (step: string) => {
      signal.throwIfAborted();
      at = Math.max(at, steps.indexOf(step, at) + 1);
      await images.change(id, { step });
      await log.write(`${stepMark}${step}\n`);
      const data = { image_id: id, name, step, at, of: steps.length };
      await journal.record({ type: "image.building", by: caller, data });
    };
    const holds = (layerId: LayerId | null) => images.change(id, { layerId });
    const layer = await build({ log, signal, begin, holds });
    try {
      const ready: News = { type: "image.ready", by: caller, data: { image_id: id, name, bytes: layer.bytes } };
      await images.change(id, { state: "ready", layerId: layer.id, bytes: layer.bytes, step: null }, ready);
    } catch (error) {
      await layers.remove(layer.id);
      throw error;
    }
    await this.#supersede(id, name);
  }

  /** Forgets failed images of this name, and ends sandboxes that wait with an older one. */
  async #supersede(id: string, name: string): Promise<void> {
    for (const other of this.#parts.images.list()) {
      if (other.id === id || other.name !== name) continue;
      if (other.state === "failed") await this.#forget(other.id);
      else if (other.layerId !== null) await this.#parts.fleet.emptyPools(other.layerId);
    }
  }

  async #fail(caller: Caller, id: string, cause: unknown): Promise<void> {
    const { images } = this.#parts;
    const { step = null, name = "" } = images.byId(id) ?? {};
    const error = explainFailure(step, cause);
    await this.#builds.get(id)?.log.write(`\n${error}\n`);
    const failure: News = { type: "image.failed", by: caller, data: { image_id: id, name, step } };
    await images.change(id, { state: "failed", error }, failure);
    const failed = images.list().filter(({ state }) => state === "failed");
    for (const old of failed.slice(buildLimits.failed)) await this.#forget(old.id);
  }

  /** Whatever comes of it is in the record before anybody hears of its end. */
  async #settle(caller: Caller, id: string, queued: Promise<void>): Promise<void> {
    try {
      await queued.catch((error: unknown) => this.#fail(caller, id, error));
    } catch (error) {
      this.#parts.onError(error);
    }
    await this.#builds.get(id)?.log.end();
    this.#builds.delete(id);
  }

  /** Reads the log from its beginning; the end of the build is the last message. */
  async *log(image: string, gone: AbortSignal): AsyncGenerator<LogMessage> {
    const { images } = this.#parts;
    const { id } = images.get(image);
    const build = this.#builds.get(id);
    const texts = build?.log.follow(gone) ?? readLog(this.#logPath(id));
    const steps = build?.steps ?? (await stepsIn(this.#logPath(id)));
    let at = 0;
    let rest = "";
    for await (const text of texts) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const step = line.startsWith(stepMark) ? line.slice(stepMark.length) : "";
        if (!steps.includes(step)) yield { type: "log", data: `${line}\n` };
        else {
          at = Math.max(at, steps.indexOf(step, at) + 1);
          yield { type: "step", step, at, of: Math.max(steps.length, at) };
        }
      }
    }
    if (gone.aborted) return;
    if (rest !== "") yield { type: "log", data: rest };
    await build?.done.catch(() => undefined);
    const record = images.byId(id);
    if (record !== undefined) yield { type: "end", state: record.state, step: record.step, error: record.error };
  }

  /** One that is being made is ended. Refused while a sandbox has it for its root. */
  async delete(caller: Caller, image: string): Promise<void> {
    const { images } = this.#parts;
    const { id, name } = images.get(image);
    const build = this.#builds.get(id);
    build?.abort.abort(new AppError("conflict", "the image was deleted"));
    await build?.done;
    const { layerId = null } = images.byId(id) ?? {};
    if (layerId !== null) {
      await this.#parts.fleet.emptyPools(layerId);
      await this.#checkUnused(name, layerId);
    }
    await this.#forget(id, { type: "image.deleted", by: caller, data: { image_id: id, name } });
    if (layerId !== null) await this.#parts.layers.remove(layerId);
  }

  async #checkUnused(name: string, layerId: LayerId): Promise<void> {
    const uses = (await this.#parts.layers.list()).find(({ id }) => id === layerId)?.uses ?? 0;
    if (this.#parts.needed().includes(layerId))
      throw new AppError("conflict", `the image ${name} is used by a template`, { hint: "delete the template first" });
    if (uses === 0) return;
    throw new AppError("conflict", `the image ${name} is in use by ${uses} sandboxes and versions of servers`, {
      hint: "destroy the sandboxes and delete the servers first; garbage collection deletes a server's code an hour later",
      details: { uses },
    });
  }

  async #forget(id: string, news?: News): Promise<void> {
    await this.#parts.images.forget(id, news);
    this.#room.forget(id);
    await rm(this.#logPath(id), { force: true });
  }

  #logPath(id: string): string {
    return join(this.#parts.folder, `${id}.log`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const builds = [...this.#builds.values()];
    for (const { abort } of builds) abort.abort(new AppError("unavailable", "the daemon is shutting down"));
    for (const { done } of builds) await done.catch((error: unknown) => this.#parts.onError(messageOf(error)));
  }
}
