import { type Clock, systemClock } from "../lib/clock.ts";
import { Recent } from "../lib/recent.ts";

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
  readonly #buckets: Recent<Bucket>;

  constructor(options: BucketOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#buckets = new Recent(options.most);
  }

  /** Takes tokens: 0, or how long to wait for them. More than a bucket holds empty it for as long as they take to come. */
  take(name: string, count = 1): number {
    const { perSecond, burst } = this.#options;
    const now = this.#clock.monotonicMs();
    const last = this.#buckets.get(name) ?? { tokens: burst, atMs: now };
    const tokens = Math.min(burst, last.tokens + ((now - last.atMs) / 1000) * perSecond);
    const needed = Math.min(count, burst);
    const taken = tokens >= needed;
    this.#buckets.set(name, { tokens: taken ? tokens - count : tokens, atMs: now });
    return taken ? 0 : Math.ceil(((needed - tokens) / perSecond) * 1000);
  }
}
