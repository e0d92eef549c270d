/** Makes images that a sandbox asks for before anybody has imported them: of the catalogue, and of registries that an operator has named (S97). */
import { imageState } from "../core/choose-image.ts";
import { AppError } from "../core/errors.ts";
import type { ImageRecord } from "../core/image-record.ts";
import type { Imported } from "../core/import-tree.ts";
import { type Caller, unattended } from "../core/principal.ts";
import type { Clock } from "../lib/clock.ts";
import { defined } from "../lib/defined.ts";
import { keepNewest } from "../lib/keep-newest.ts";
import type { ImageBuilds } from "./image-builds.ts";
import type { Images } from "./images.ts";
import { firstUseLimits } from "./limits.ts";
import type { ImageSource, RequestableImages } from "./requestable-images.ts";

export interface FirstUseParts {
  images: Pick<Images, "list" | "get" | "byId">;
  requestable: Pick<RequestableImages, "nameOf" | "sourceOf">;
  builds: Pick<ImageBuilds, "log" | "importFromCatalogue" | "settled" | "checkRoom">;
  pull: (caller: Caller, reference: string) => Promise<Imported>;
  clock: Pick<Clock, "monotonicMs">;
}

interface Failure {
  untilMs: number;
  error: AppError;
}

export class FirstUse {
  readonly #parts: FirstUseParts;
  readonly #begun = new Map<string, Promise<ImageRecord>>();
  readonly #failures = new Map<string, Failure>();

  constructor(parts: FirstUseParts) {
    this.#parts = parts;
  }

  /** Waits for a missing image, which is made if it is not being made; undefined when there is nothing to wait for. */
  ensure(caller: Caller, image: string): Promise<void> | undefined {
    const { images, requestable } = this.#parts;
    const name = requestable.nameOf(image);
    const state = imageState(images.list(), name);
    if (state === "ready") return undefined;
    if (state === "building") return this.#wait(caller, image, Promise.resolve(images.get(name)));
    const source = requestable.sourceOf(image);
    return source && this.#wait(caller, image, this.#begin(caller, image, source));
  }

  /** Once for all who ask meanwhile. One that has failed rests: each try costs minutes of this machine, or asks a registry. */
  #begin(caller: Caller, image: string, { key, from }: ImageSource): Promise<ImageRecord> {
    const failure = this.#failures.get(key);
    const restMs = (failure?.untilMs ?? 0) - this.#parts.clock.monotonicMs();
    if (failure !== undefined && restMs > 0) return Promise.reject(resting(failure.error, restMs));
    const known = this.#begun.get(key);
    if (known !== undefined) return known;
    const { builds, pull } = this.#parts;
    builds.checkRoom(caller); // before a registry is asked
    const maker = unattended(caller);
    const begun = (from === "catalogue" ? builds.importFromCatalogue(maker, key) : pull(maker, image))
      .then(
        ({ record }) => {
          void this.#watch(key, image, record.id);
          return record;
        },
        (error: unknown) => {
          if (!(error instanceof AppError && error.code === "limit_exceeded")) this.#remember(key, image, error); // room comes back
          throw error;
        },
      )
      .finally(() => this.#begun.delete(key));
    this.#begun.set(key, begun);
    return begun;
  }

  async #watch(key: string, image: string, id: string): Promise<void> {
    const { images, builds } = this.#parts;
    await builds.settled(id);
    const record = images.byId(id);
    if (record?.state === "ready") this.#failures.delete(key);
    else
      this.#remember(key, image, failedImage(image, record?.error ?? "the image was deleted", firstUseLimits.restMs));
  }

  #remember(key: string, image: string, error: unknown): void {
    const untilMs = this.#parts.clock.monotonicMs() + firstUseLimits.restMs;
    const known = error instanceof AppError ? error : failedImage(image, "internal error", firstUseLimits.restMs);
    this.#failures.delete(key);
    this.#failures.set(key, { untilMs, error: known });
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
      record = id === undefined ? undefined : images.byId(id);
      if (id !== undefined && record?.state !== "building" && record?.state !== "ready")
        throw failedImage(image, record?.error ?? "the image was deleted", firstUseLimits.restMs);
    } finally {
      clearTimeout(timer);
    }
    caller.gone?.throwIfAborted();
    if (record?.state === "ready") return;
    throw new AppError("unavailable", `the image ${image} is being built (${record?.step ?? "waiting to start"})`, {
      hint: `try again later, or follow the build: caisson image log ${image}`,
      retryAfterMs: firstUseLimits.retryMs,
      details: { image, step: record?.step ?? null },
    });
  }

  /** With each step told to who listens. */
  async #settled({ told }: Caller, image: string, id: string, signal: AbortSignal): Promise<void> {
    const { builds } = this.#parts;
    let step = "";
    if (told !== undefined)
      for await (const message of builds.log(id, signal)) {
        if (message.type === "step") step = `${message.step} (${message.at} of ${message.of})`;
        if (message.type !== "end") told(`image ${image}: ${step}\n`);
      }
    await builds.settled(id);
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

/** The same refusal again, without another try. */
function resting({ code, message, hint, details }: AppError, restMs: number): AppError {
  return new AppError(code, message, { ...defined({ hint, details }), retryAfterMs: restMs });
}

function failedImage(image: string, why: string, restMs: number): AppError {
  return new AppError("unavailable", `cannot build the image ${image}: ${why}`, {
    hint: `caisson image log ${image} prints the build log; an administrator can retry with caisson image import`,
    retryAfterMs: restMs,
    details: { image },
  });
}
