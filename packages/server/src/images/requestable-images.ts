/** Images that a sandbox may ask for: those that are here, and those that asking makes (S97). */
import { imageState } from "../core/choose-image.ts";
import { AppError } from "../core/errors.ts";
import type { ChosenImage, ImageChoice } from "../core/image-record.ts";
import type { Images } from "./images.ts";

/** An image of a registry, by the name that a sandbox asks for. */
interface Pullable {
  /** Registry and repository, as `images.pull` names them. */
  place: string;
  /** The same for all names of one image. */
  reference: string;
  isAllowed: boolean;
}

/** Source of an image that is missing, by a key that all its names share. */
export interface ImageSource {
  key: string;
  from: "catalogue" | "registry";
}

export interface RequestableImagesParts {
  images: Pick<Images, "list" | "choose" | "entryOf">;
  /** Undefined for a name that is no image of a registry. */
  pullable: (image: string) => Pullable | undefined;
  /** Builds images of the catalogue on their first use. */
  makesCatalogue: boolean;
}

export class RequestableImages implements ImageChoice {
  readonly #parts: RequestableImagesParts;

  constructor(parts: RequestableImagesParts) {
    this.#parts = parts;
  }

  choose(image: string): ChosenImage {
    try {
      return this.#parts.images.choose(this.nameOf(image));
    } catch (error) {
      const found = this.#parts.pullable(image);
      const isMissing =
        error instanceof AppError && error.code === "not_found" && error.details?.catalogue === undefined;
      if (!isMissing || found === undefined) throw error;
      const { message, details = {} } = error;
      const hint = `images.pull in the configuration lets sandboxes pull ${found.place}; an administrator pulls it once with: caisson image pull ${image}`;
      throw new AppError("not_found", message, { hint, details });
    }
  }

  isComing(image: string): boolean {
    const state = imageState(this.#parts.images.list(), this.nameOf(image));
    return state === "building" || (state === "missing" && this.sourceOf(image) !== undefined);
  }

  /** The name under which the image is here: a reference may be written in several ways. */
  nameOf(image: string): string {
    const { images, pullable } = this.#parts;
    const records = images.list();
    if (imageState(records, image) !== "missing" || images.entryOf(image) !== undefined) return image;
    const reference = pullable(image)?.reference;
    if (reference === undefined) return image;
    const same = records.filter(({ source, name }) => source === "oci" && pullable(name)?.reference === reference);
    const states = ["ready", "building"] as const;
    return states.map((wanted) => same.find(({ state }) => state === wanted)).find(Boolean)?.name ?? image;
  }

  /** Undefined when asking for the image does not make it. */
  sourceOf(image: string): ImageSource | undefined {
    const { images, pullable, makesCatalogue } = this.#parts;
    const name = images.entryOf(image)?.spec.name;
    if (name !== undefined) return makesCatalogue ? { key: name, from: "catalogue" } : undefined;
    const found = pullable(image);
    return found?.isAllowed ? { key: found.reference, from: "registry" } : undefined;
  }
}
