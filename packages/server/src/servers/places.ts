import { AppError } from "../core/errors.ts";
import { abortable } from "./abortable.ts";

/** Places for the instances of one server. Where none is free the least recently used one makes room, or the call waits. */
export class Places {
  readonly #most: number;
  readonly #mostWaiting: number;
  readonly #leastUsed: () => (() => Promise<void>) | undefined;
  #taken = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number, mostWaiting: number, leastUsed: () => (() => Promise<void>) | undefined) {
    this.#most = most;
    this.#mostWaiting = mostWaiting;
    this.#leastUsed = leastUsed;
  }

  async take(signal: AbortSignal): Promise<{ free(): void }> {
    while (this.#taken >= this.#most) {
      const stop = this.#leastUsed();
      if (stop !== undefined) await stop();
      else await this.#wait(signal);
    }
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

  async #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= this.#mostWaiting)
      throw new AppError("limit_exceeded", `all ${this.#most} instances of the server are in use, and others wait`, {
        hint: "try again later",
        retryAfterMs: 1_000,
      });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    try {
      await abortable(promise, signal);
    } catch (error) {
      const at = this.#waiting.indexOf(resolve);
      if (at >= 0) this.#waiting.splice(at, 1);
      else this.look(); // it was this one's turn already
      throw error;
    }
  }

  /** An instance is no longer used, or gone: whoever waits first looks again. */
  look(): void {
    this.#waiting.shift()?.();
  }
}
