import { AppError } from "../core/errors.ts";
import { httpLimits } from "../core/http-limits.ts";

/** How many responses without an end are open, for each key and in all. */
export class OpenStreams {
  readonly #perKey: number;
  readonly #open = new Map<string, number>();
  #all = 0;

  constructor(perKey: number) {
    this.#perKey = perKey;
  }

  /** Returns what closes it again; calling that twice does no harm. */
  open(key: string): () => void {
    const own = this.#open.get(key) ?? 0;
    if (own >= this.#perKey) throw tooMany(`this key has ${own} streams open already`);
    if (this.#all >= httpLimits.streams) throw tooMany("too many streams are open");
    this.#open.set(key, own + 1);
    this.#all++;
    let closed = false;
    return () => {
      if (closed) return;
      closed = true;
      this.#all--;
      const left = (this.#open.get(key) ?? 1) - 1;
      if (left === 0) this.#open.delete(key);
      else this.#open.set(key, left);
    };
  }
}

function tooMany(message: string): AppError {
  return new AppError("limit_exceeded", message, { hint: "close those that are not read", retryAfterMs: 1_000 });
}
