import { AppError } from "../core/errors.ts";
import { httpLimits } from "./limits.ts";

/** Responses without an end that are open, for each key and in all. */
export class OpenStreams {
  readonly #perKey: number;
  /** What ends each of them. */
  readonly #open = new Map<string, Set<() => void>>();
  #all = 0;

  constructor(perKey: number) {
    this.#perKey = perKey;
  }

  /** Returns what closes it again; calling that twice does no harm. */
  open(key: string, end: () => void): () => void {
    const own = this.#open.get(key) ?? new Set();
    if (own.size >= this.#perKey) throw tooMany(`this key has ${own.size} streams open already`);
    if (this.#all >= httpLimits.streams) throw tooMany("too many streams are open");
    const entry = () => end();
    own.add(entry);
    this.#open.set(key, own);
    this.#all++;
    return () => {
      if (!own.delete(entry)) return;
      this.#all--;
      if (own.size === 0 && this.#open.get(key) === own) this.#open.delete(key);
    };
  }

  /** A key that is revoked sees nothing more, not even of what it began before. */
  endAll(key: string): void {
    for (const end of [...(this.#open.get(key) ?? [])]) end();
  }
}

function tooMany(message: string): AppError {
  return new AppError("limit_exceeded", message, { hint: "close streams that are not read", retryAfterMs: 1_000 });
}
