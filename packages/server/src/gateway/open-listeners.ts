import { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";
import { gatewayLimits } from "./limits.ts";

/** Streams that stay open without a request, for each key. They keep no server awake. */
export class OpenListeners {
  readonly #open = new Map<string, number>();

  /** Returns what leaves again; calling that twice does no harm. */
  enter({ principal: { id } }: Caller): () => void {
    const open = this.#open.get(id) ?? 0;
    if (open >= gatewayLimits.streamsPerKey)
      throw new AppError("limit_exceeded", `this key has ${open} open streams to hosted servers`, {
        hint: "close streams that are not read",
        retryAfterMs: 1_000,
      });
    this.#open.set(id, open + 1);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      const left = (this.#open.get(id) ?? 1) - 1;
      if (left === 0) this.#open.delete(id);
      else this.#open.set(id, left);
    };
  }
}
