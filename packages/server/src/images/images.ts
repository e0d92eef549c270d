import { chooseImage, findImage } from "../core/choose-image.ts";
import { AppError } from "../core/errors.ts";
import type { ChosenImage, ImageChanges, ImageRecord, ImageRecords } from "../core/image-record.ts";
import type { CatalogueEntry } from "../core/image-spec.ts";
import type { News, Recorder } from "../core/journal.ts";
import type { LayerId } from "../core/layer.ts";
import { explainFailure } from "./build-steps.ts";
import { digestOf } from "./digest.ts";

export interface ImagesParts {
  records: ImageRecords;
  /** Specifications that come with the program. */
  catalogue: readonly CatalogueEntry[];
  journal: Recorder;
}

/** Read-only roots of the installation, by their records: in memory, and in the store before anybody hears of them (IMG-02). */
export class Images {
  readonly #parts: ImagesParts;
  readonly #records = new Map<string, ImageRecord>();

  private constructor(parts: ImagesParts) {
    this.#parts = parts;
  }

  /** Builds that the last daemon did not finish have failed. */
  static async open(parts: ImagesParts): Promise<Images> {
    const images = new Images(parts);
    for (const record of (await parts.records.list()).reverse()) {
      images.#records.set(record.id, { ...record, aliases: images.#aliasesOf(record) });
      if (record.state !== "building") continue;
      const error = explainFailure(record.step, new AppError("unavailable", "the daemon ended during the build"));
      await images.change(record.id, { state: "failed", error });
    }
    return images;
  }

  /** Other names promise what the catalogue says now (a version of Python): one that was made of what it said before has none. */
  #aliasesOf({ name, source, digest, aliases }: ImageRecord): readonly string[] {
    const entry = source === "catalogue" ? this.catalogue.find(({ spec }) => spec.name === name) : undefined;
    return entry === undefined || digestOf(entry.spec) === digest ? aliases : [];
  }

  get catalogue(): readonly CatalogueEntry[] {
    return this.#parts.catalogue;
  }

  /** The catalogue's entry of this name or alias. */
  entryOf(image: string): CatalogueEntry | undefined {
    return this.catalogue.find(({ spec }) => spec.name === image || spec.aliases.includes(image));
  }

  /** Newest first. */
  list(): ImageRecord[] {
    return [...this.#records.values()].reverse();
  }

  /** By id, name or alias; failed ones by their id alone, unless there is no other. */
  get(image: string): ImageRecord {
    return findImage(this.list(), image, this.catalogue);
  }

  byId(id: string): ImageRecord | undefined {
    return this.#records.get(id);
  }

  /** Finds the image whose tree this is; undefined once it is deleted. */
  ofLayer(layerId: LayerId): ImageRecord | undefined {
    return this.#records.values().find((record) => record.layerId === layerId);
  }

  choose(image: string): ChosenImage {
    return chooseImage(this.list(), image, this.catalogue);
  }

  /** Layers of all images; no collection may remove them. */
  layerIds(): LayerId[] {
    return this.list().flatMap(({ layerId }) => (layerId === null ? [] : [layerId]));
  }

  async insert(record: ImageRecord, news: News): Promise<void> {
    const { journal, records } = this.#parts;
    await journal.record(news, (within) => records.insert(record, within));
    this.#records.set(record.id, record);
  }

  async change(id: string, changes: ImageChanges, news?: News): Promise<void> {
    const { journal, records } = this.#parts;
    if (news === undefined) await records.update(id, changes);
    else await journal.record(news, (within) => records.update(id, changes, within));
    const record = this.#records.get(id);
    if (record !== undefined) this.#records.set(id, { ...record, ...changes });
  }

  /** Deletes the record, and nothing else of the image. */
  async forget(id: string, news?: News): Promise<void> {
    const { journal, records } = this.#parts;
    if (news === undefined) await records.delete(id);
    else await journal.record(news, (within) => records.delete(id, within));
    this.#records.delete(id);
  }
}
