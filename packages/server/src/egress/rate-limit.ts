import { gateLimits } from "./gate-limits.ts";

/** Bytes a second for all who share it. Each is told how long to wait after what it has just sent. */
export class RateLimit {
  #bytesPerSecond: number | null = null;
  /** When everything that was taken will have been paid for. */
  #paidAtMs = 0;

  set bytesPerSecond(rate: number | null) {
    this.#bytesPerSecond = rate;
  }

  /** Milliseconds to wait before the next. */
  take(bytes: number, nowMs: number): number {
    if (this.#bytesPerSecond === null) return 0;
    this.#paidAtMs = Math.max(this.#paidAtMs, nowMs) + (bytes * 1_000) / this.#bytesPerSecond;
    return Math.max(0, this.#paidAtMs - nowMs - gateLimits.burstMs);
  }
}
