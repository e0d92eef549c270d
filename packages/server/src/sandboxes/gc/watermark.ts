import { type DiskRoom, usedPercent } from "../../core/gc.ts";
import type { Clock } from "../../lib/clock.ts";
import type { GarbageCollection } from "./collection.ts";
import { gcLimits } from "./limits.ts";

interface WatermarkParts {
  collection: Pick<GarbageCollection, "runBySelf" | "overBudget" | "settled">;
  disk: () => Promise<DiskRoom>;
  watermarkPercent: number;
  clock: Clock;
  onError: (error: unknown) => void;
}

/** Collects when the disk fills up, or a kind takes more than it may. */
export class Watermark implements AsyncDisposable {
  readonly #parts: WatermarkParts;
  readonly #timer: NodeJS.Timeout;
  #underWay: Promise<void> | undefined;
  #nextRunMs = 0;
  #nextBudgetMs: number;

  constructor(parts: WatermarkParts) {
    this.#parts = parts;
    this.#nextBudgetMs = parts.clock.wallMs() + gcLimits.budgetEveryMs;
    this.#timer = setInterval(() => this.look(), gcLimits.watchEveryMs).unref();
    this.look();
  }

  /** Now, unless it is looking already. */
  look(): void {
    this.#underWay ??= this.#look()
      .catch(this.#parts.onError)
      .finally(() => {
        this.#underWay = undefined;
      });
  }

  async #look(): Promise<void> {
    const { collection, disk, watermarkPercent, clock } = this.#parts;
    const room = await disk();
    if (usedPercent(room) >= watermarkPercent && clock.wallMs() >= this.#nextRunMs) {
      const freeWanted = (room.totalBytes * (100 - watermarkPercent + gcLimits.reliefPercent)) / 100;
      await collection.runBySelf("watermark", Math.max(0, Math.ceil(freeWanted - room.freeBytes)));
      this.#nextRunMs = clock.wallMs() + gcLimits.retryMs;
      return;
    }
    if (clock.wallMs() < this.#nextBudgetMs) return;
    this.#nextBudgetMs = clock.wallMs() + gcLimits.budgetEveryMs;
    if ((await collection.overBudget()).length > 0) await collection.runBySelf("budget", 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#underWay;
    await this.#parts.collection.settled();
  }
}
