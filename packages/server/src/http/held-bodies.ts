import { AppError } from "../core/errors.ts";
import { httpLimits } from "../core/http-limits.ts";
import { Turn } from "../core/turn.ts";

/** JSON bodies that are read or worked on, by key: the memory they may take, and one at a time for the parser (S94). */
export class HeldBodies {
  readonly #bytes = new Map<string, number>();
  readonly #parsing = new Turn();
  #all = 0;

  /** Counts so many bytes more until they are released; refuses past the key's share. */
  add(key: string, bytes: number): void {
    const own = (this.#bytes.get(key) ?? 0) + bytes;
    if (own > httpLimits.heldBytesPerKey || this.#all + bytes > httpLimits.heldBytes)
      throw new AppError("limit_exceeded", "too many large requests are under way", {
        hint: "wait for the answers to earlier ones",
        retryAfterMs: 1_000,
      });
    this.#bytes.set(key, own);
    this.#all += bytes;
  }

  release(key: string, bytes: number): void {
    const own = (this.#bytes.get(key) ?? 0) - bytes;
    if (own > 0) this.#bytes.set(key, own);
    else this.#bytes.delete(key);
    this.#all -= bytes;
  }

  /** Resolves when a large body may be parsed: other requests get their turn between two of them. */
  turn(): Promise<void> {
    return this.#parsing.take(() => new Promise((resolve) => setImmediate(resolve)));
  }
}
