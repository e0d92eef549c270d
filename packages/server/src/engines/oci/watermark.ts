import type { DiskNews } from "../../core/engine.ts";
import { engineLimits } from "../limits.ts";
import type { Live } from "./live.ts";

/** What is made to stand still, after its owner was told. */
type Writer = Pick<Live, "freezer" | "tellDisk">;

/**
 * Freezes every sandbox while the host's disk is nearly full, and lets them go when there is room again: a sparse image
 * that cannot grow loses what was written to it (hazard 8).
 */
export class DiskWatermark implements Disposable {
  readonly #freeBytes: () => Promise<number>;
  readonly #live: () => Iterable<Writer>;
  readonly #onError: (error: unknown) => void;
  readonly #held = new Set<Writer>();
  readonly #timer: NodeJS.Timeout;
  #busy = false;

  constructor(freeBytes: () => Promise<number>, live: () => Iterable<Writer>, onError: (error: unknown) => void) {
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

  /** All at once: a guest that is slow to take the news gives no other time to write. */
  async #hold(live: ReadonlySet<Writer>): Promise<void> {
    const fresh = [...live].filter((writer) => !this.#held.has(writer));
    await Promise.all(
      fresh.map(async (writer) => {
        this.#held.add(writer);
        await this.#tell(writer, "low");
        await writer.freezer.hold("disk");
        await this.#tell(writer, "standstill");
      }),
    );
  }

  async #release(live: ReadonlySet<Writer>): Promise<void> {
    for (const writer of this.#held) {
      this.#held.delete(writer);
      if (!live.has(writer)) continue;
      await this.#tell(writer, "room");
      await writer.freezer.release("disk");
    }
  }

  /** Whatever becomes of the news, the sandbox stands still or goes on. */
  async #tell(writer: Writer, news: DiskNews): Promise<void> {
    await writer.tellDisk(news).catch(this.#onError);
  }
}
