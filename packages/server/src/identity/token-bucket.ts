import { type Clock, systemClock } from "../core/clock.ts";
import { keepNewest } from "../core/keep-newest.ts";

interface Bucket {
  tokens: number;
  atMs: number;
}

export interface BucketOptions {
  perSecond: number;
  burst: number;
  /** Names that are remembered; one that is forgotten starts with a full bucket. */
  most: number;
  clock?: Clock;
}

/** A bucket of tokens for each name. */
export class TokenBuckets {
  readonly #options: BucketOptions;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: BucketOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Takes a token: 0, or how long to wait for one. */
  take(name: string): number {
    const { perSecond, burst, most } = this.#options;
    const now = this.#clock.monotonicMs();
    const last = this.#buckets.get(name) ?? { tokens: burst, atMs: now };
    const tokens = Math.min(burst, last.tokens + ((now - last.atMs) / 1000) * perSecond);
    const taken = tokens >= 1;
    this.#buckets.delete(name);
    this.#buckets.set(name, { tokens: taken ? tokens - 1 : tokens, atMs: now });
    keepNewest(this.#buckets, most);
    return taken ? 0 : Math.ceil(((1 - tokens) / perSecond) * 1000);
  }
}
