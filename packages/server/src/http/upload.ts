import { createHash } from "node:crypto";
import { AppError } from "../core/errors.ts";

/** The body of a route that takes any bytes: bounded, counted and hashed as it passes, for the timeline to name it. */
export class Upload implements AsyncIterable<Uint8Array> {
  readonly #pieces: AsyncIterable<Uint8Array> | undefined;
  readonly #mostBytes: number;
  readonly #hash = createHash("sha256");
  #sizeBytes = 0;

  constructor(body: unknown, mostBytes = Number.POSITIVE_INFINITY) {
    this.#pieces = body as AsyncIterable<Uint8Array> | undefined;
    this.#mostBytes = mostBytes;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    for await (const piece of this.#pieces ?? []) {
      this.#sizeBytes += piece.length;
      if (this.#sizeBytes > this.#mostBytes)
        throw new AppError("too_large", `the body is too large (limit: ${this.#mostBytes} bytes)`);
      this.#hash.update(piece);
      yield piece;
    }
  }

  /** Once all of it has passed. */
  describe(): { size_bytes: number; sha256: string } {
    return { size_bytes: this.#sizeBytes, sha256: this.#hash.digest("hex") };
  }
}
