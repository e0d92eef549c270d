import { randomBytes } from "node:crypto";
import { type Clock, systemClock } from "../lib/clock.ts";
import { keepNewest } from "../lib/keep-newest.ts";
import { hashToken } from "./key-token.ts";

interface Entry<T> {
  value: T;
  expiresAtMs: number;
}

export interface OneTimeOptions {
  lifetimeMs: number;
  /** Past it the oldest makes room. */
  most: number;
  clock?: Clock;
}

/** Tokens that are good once, for a while. They end with the process. */
export class OneTimeTokens<T> {
  readonly #options: OneTimeOptions;
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry<T>>();

  constructor(options: OneTimeOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  issue(value: T): { token: string; expiresAtMs: number } {
    const token = randomBytes(32).toString("base64url");
    const expiresAtMs = this.#clock.wallMs() + this.#options.lifetimeMs;
    this.#entries.set(hashToken(token), { value, expiresAtMs });
    keepNewest(this.#entries, this.#options.most);
    return { token, expiresAtMs };
  }

  /** What it was issued for; undefined for any but the first taker in time. */
  redeem(token: string): T | undefined {
    const hash = hashToken(token);
    const entry = this.#entries.get(hash);
    this.#entries.delete(hash);
    return entry !== undefined && entry.expiresAtMs > this.#clock.wallMs() ? entry.value : undefined;
  }
}
