import { statfs } from "node:fs/promises";
import { engineLimits } from "../../core/limits.ts";

export interface Freezable {
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

/**
 * Freezes every sandbox while the host's disk is nearly full, and thaws those it froze when there is room again: a
 * sparse image that cannot grow loses what was written to it.
 */
export class DiskWatermark implements Disposable {
  readonly #folder: string;
  readonly #live: () => Iterable<Freezable>;
  readonly #onError: (error: unknown) => void;
  readonly #frozen = new Set<Freezable>();
  readonly #timer: NodeJS.Timeout;
  #busy = false;

  constructor(folder: string, live: () => Iterable<Freezable>, onError: (error: unknown) => void) {
    this.#folder = folder;
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
      const { bavail, bsize } = await statfs(this.#folder);
      await (bavail * bsize < engineLimits.diskWatermarkBytes ? this.#freeze(live) : this.#thaw(live));
    } catch (error) {
      this.#onError(error);
    } finally {
      this.#busy = false;
    }
  }

  async #freeze(live: ReadonlySet<Freezable>): Promise<void> {
    for (const sandbox of live) {
      if (this.#frozen.has(sandbox)) continue;
      this.#frozen.add(sandbox);
      await sandbox.freeze();
    }
  }

  async #thaw(live: ReadonlySet<Freezable>): Promise<void> {
    for (const sandbox of this.#frozen) {
      this.#frozen.delete(sandbox);
      if (live.has(sandbox)) await sandbox.thaw();
    }
  }
}
