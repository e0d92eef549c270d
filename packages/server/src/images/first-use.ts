/** Images that a sandbox asks for before anybody has imported them: of the catalogue, and of registries that an operator has named (S97). */
import { imageState } from "../core/choose-image.ts";
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import { firstUseLimits } from "../core/image-limits.ts";
import type { ChosenImage, ImageChoice, ImageRecord } from "../core/image-record.ts";
import type { Imported } from "../core/import-tree.ts";
import { keepNewest } from "../core/keep-newest.ts";
import { type Caller, unattended } from "../core/principal.ts";
import type { Images } from "./images.ts";

/** An image of a registry, by the name that a sandbox asks for. */
interface Pullable {
  /** Registry and repository, as `images.pull` names them. */
  place: string;
  isAllowed: boolean;
}

export interface FirstUseParts {
  images: Pick<Images, "list" | "get" | "choose" | "log" | "catalogue" | "importFromCatalogue" | "settled">;
  /** Of what names no image of a registry: undefined. */
  pullable: (image: string) => Pullable | undefined;
  pull: (caller: Caller, reference: string) => Promise<Imported>;
  /** Whether images of the catalogue are made on their first use. */
  makesCatalogue: boolean;
  clock: Pick<Clock, "monotonicMs">;
}

interface Failure {
  untilMs: number;
  why: string;
}

export class FirstUse implements ImageChoice {
  readonly #parts: FirstUseParts;
  readonly #begun = new Map<string, Promise<ImageRecord>>();
  readonly #failures = new Map<string, Failure>();

  constructor(parts: FirstUseParts) {
    this.#parts = parts;
  }

  choose(image: string): ChosenImage {
    try {
      return this.#parts.images.choose(image);
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

  bring(caller: Caller, image: string): Promise<void> | undefined {
    const { images } = this.#parts;
    const state = imageState(images.list(), image);
    if (state === "ready") return undefined;
    if (state === "building") return this.#wait(caller, image, Promise.resolve(images.get(image)));
    const start = this.#startOf(image);
    return start && this.#wait(caller, image, this.#begin(caller, image, start));
  }

  /** What makes it; undefined when asking for it is not enough. */
  #startOf(image: string): ((caller: Caller) => Promise<Imported>) | undefined {
    const { images, pullable, pull, makesCatalogue } = this.#parts;
    const entry = images.catalogue.find(({ spec }) => spec.name === image || spec.aliases.includes(image));
    if (entry !== undefined)
      return makesCatalogue ? (caller) => images.importFromCatalogue(caller, entry.spec.name) : undefined;
    return pullable(image)?.isAllowed === true ? (caller) => pull(caller, image) : undefined;
  }

  /** Once for all who ask meanwhile. One that has failed rests: each try costs minutes of this machine. */
  #begin(caller: Caller, image: string, start: (caller: Caller) => Promise<Imported>): Promise<ImageRecord> {
    const failure = this.#failures.get(image);
    const restMs = (failure?.untilMs ?? 0) - this.#parts.clock.monotonicMs();
    if (failure !== undefined && restMs > 0) return Promise.reject(failedImage(image, failure.why, restMs));
    const known = this.#begun.get(image);
    if (known !== undefined) return known;
    const begun = start(unattended(caller)).then(({ record }) => {
      void this.#watch(image, record.id);
      return record;
    });
    this.#begun.set(image, begun);
    const end = () => void this.#begun.delete(image);
    begun.then(end, end);
    return begun;
  }

  async #watch(image: string, id: string): Promise<void> {
    const { images, clock } = this.#parts;
    await images.settled(id);
    const record = images.list().find((one) => one.id === id);
    this.#failures.delete(image);
    if (record?.state === "ready") return;
    const untilMs = clock.monotonicMs() + firstUseLimits.restMs;
    this.#failures.set(image, { untilMs, why: record?.error ?? "it was deleted" });
    keepNewest(this.#failures, firstUseLimits.remembered);
  }

  async #wait(caller: Caller, image: string, begun: Promise<ImageRecord>): Promise<void> {
    const { images } = this.#parts;
    const over = new AbortController();
    const waitMs = caller.told === undefined ? firstUseLimits.waitMs : firstUseLimits.watchedMs;
    const timer = setTimeout(() => over.abort(), waitMs);
    const signal = AbortSignal.any([over.signal, caller.gone ?? over.signal]);
    let record: ImageRecord | undefined;
    try {
      const id = (await before(signal, begun))?.id;
      if (id !== undefined) await before(signal, this.#settled(caller, image, id, signal));
      record = images.list().find((one) => one.id === id);
      if (id !== undefined && record?.state !== "building" && record?.state !== "ready")
        throw failedImage(image, record?.error ?? "it was deleted", firstUseLimits.restMs);
    } finally {
      clearTimeout(timer);
    }
    caller.gone?.throwIfAborted();
    if (record?.state === "ready") return;
    throw new AppError("unavailable", `the image ${image} is being made (${record?.step ?? "it waits for its turn"})`, {
      hint: `ask again later, or wait for it with: caisson image log ${image}`,
      retryAfterMs: firstUseLimits.retryMs,
      details: { image, step: record?.step ?? null },
    });
  }

  /** With each step told to who listens. */
  async #settled({ told }: Caller, image: string, id: string, signal: AbortSignal): Promise<void> {
    const { images } = this.#parts;
    let step = "";
    if (told !== undefined)
      for await (const message of images.log(id, signal)) {
        if (message.type === "step") step = `${message.step} (${message.at} of ${message.of})`;
        if (message.type !== "end") told(`image ${image}: ${step}\n`);
      }
    await images.settled(id);
  }
}

/** Undefined when the signal is aborted first. */
function before<T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  work.catch(() => undefined); // nobody may be there to hear of it
  if (signal.aborted) return Promise.resolve(undefined);
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const end = () => resolve(undefined);
  signal.addEventListener("abort", end, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", end));
}

function failedImage(image: string, why: string, restMs: number): AppError {
  return new AppError("unavailable", `the image ${image} could not be made: ${why}`, {
    hint: `caisson image log ${image} has all that was said; an administrator tries again with caisson image import`,
    retryAfterMs: restMs,
    details: { image },
  });
}
