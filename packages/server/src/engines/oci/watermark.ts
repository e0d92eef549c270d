import { engineLimits } from "../../core/limits.ts";
import type { Freezer } from "./freezer.ts";

/**
 * Freezes every sandbox while the host's disk is nearly full, and lets them go when there is room again: a sparse image
 * that cannot grow loses what was written to it (hazard 8).
 */
export class DiskWatermark implements Disposable {
  readonly #freeBytes: () => Promise<number>;
  readonly #live: () => Iterable<Freezer>;
  readonly #onError: (error: unknown) => void;
  readonly #held = new Set<Freezer>();
  readonly #timer: NodeJS.Timeout;
  #busy = false;

  constructor(freeBytes: () => Promise<number>, live: () => Iterable<Freezer>, onError: (error: unknown) => void) {
    this.#freeBytes = freeBytes;
    this.#live = live;
    this.#onError = onError;
    this.#timer = setInterval(() => void this.#check(), engineLimits.diskCheckIntervalMs).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #check(): Promise<void> {
    const live = new Set(this.#live());
    if (this.#busy || live.size === 0) return;
    this.#busy = true;
    try {
      const isLow = (await this.#freeBytes()) < engineLimits.diskWatermarkBytes;
      await (isLow ? this.#hold(live) : this.#release(live));
    } catch (error) {
      this.#onError(error);
    } finally {
      this.#busy = false;
    }
  }

  async #hold(live: ReadonlySet<Freezer>): Promise<void> {
    for (const freezer of live) {
      if (this.#held.has(freezer)) continue;
      this.#held.add(freezer);
      await freezer.hold("disk");
    }
  }

  async #release(live: ReadonlySet<Freezer>): Promise<void> {
    for (const freezer of this.#held) {
      this.#held.delete(freezer);
      if (live.has(freezer)) await freezer.release("disk");
    }
  }
}
