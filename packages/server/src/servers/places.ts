import { AppError } from "../core/errors.ts";
import { Turn } from "../lib/turn.ts";
import { abortable } from "./abortable.ts";

export interface Place {
  free(): void;
}

/** Places for the instances of one server, in the order of asking. Where none is free the least recently used instance makes room, or the call waits. */
export class Places {
  readonly #most: number;
  readonly #mostWaiting: number;
  readonly #leastUsed: () => (() => Promise<void>) | undefined;
  readonly #line = new Turn();
  #inLine = 0;
  #taken = 0;
  #changed = Promise.withResolvers<void>();

  constructor(most: number, mostWaiting: number, leastUsed: () => (() => Promise<void>) | undefined) {
    this.#most = most;
    this.#mostWaiting = mostWaiting;
    this.#leastUsed = leastUsed;
  }

  async take(signal: AbortSignal): Promise<Place> {
    if (this.#inLine >= this.#mostWaiting)
      throw new AppError("limit_exceeded", `all ${this.#most} instances of the server are in use, and others wait`, {
        hint: "try again later",
        retryAfterMs: 1_000,
      });
    this.#inLine += 1;
    const given = this.#line.take(() => this.#first(signal));
    try {
      return await abortable(given, signal);
    } catch (error) {
      void given.then(
        (place) => place.free(),
        () => undefined,
      );
      throw error;
    } finally {
      this.#inLine -= 1;
    }
  }

  /** Makes room for the first in line alone, so that nobody behind it gets that. */
  async #first(signal: AbortSignal): Promise<Place> {
    while (this.#taken >= this.#most) {
      const stop = this.#leastUsed();
      if (stop !== undefined) await stop();
      else await abortable(this.#changed.promise, signal);
    }
    signal.throwIfAborted();
    this.#taken += 1;
    let isTaken = true;
    const free = () => {
      if (!isTaken) return;
      isTaken = false;
      this.#taken -= 1;
      this.look();
    };
    return { free };
  }

  /** An instance is no longer used, or gone. */
  look(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
