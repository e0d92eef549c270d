import { redactionLimits } from "./limits.ts";

/** Notices that halves of values are printed again and again, which ordinary output does not do. Looks at so many bytes a second. */
export class PartCount {
  readonly #listeners: (() => void)[] = [];
  readonly #nowMs: () => number;
  #count = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #quietMs = Number.NEGATIVE_INFINITY;
  #second = Number.NEGATIVE_INFINITY;
  #looked = 0;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  watch(listener: () => void): void {
    this.#listeners.push(listener);
  }

  wants(bytes: number): boolean {
    const now = this.#nowMs();
    if (this.#listeners.length === 0 || now < this.#quietMs) return false;
    const second = Math.floor(now / 1000);
    if (second !== this.#second) this.#looked = 0;
    this.#second = second;
    this.#looked += bytes;
    return this.#looked - bytes < redactionLimits.partsBytes;
  }

  add(count: number): void {
    if (count === 0) return;
    const now = this.#nowMs();
    if (now - this.#sinceMs > redactionLimits.partsMs) {
      this.#sinceMs = now;
      this.#count = 0;
    }
    this.#count += count;
    if (this.#count < redactionLimits.parts) return;
    this.#count = 0;
    this.#quietMs = now + redactionLimits.partsQuietMs;
    for (const listener of this.#listeners) listener();
  }
}
