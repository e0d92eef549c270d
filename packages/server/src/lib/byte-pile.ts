/** Bytes that come in pieces of any size, however small: they take at most twice their memory, and pieces take none. */
export class BytePile {
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Copies the piece. */
  push(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(length, 2 * this.#bytes.length));
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    piece.copy(this.#bytes, this.#length);
    this.#length = length;
  }

  /** All bytes; the pile is empty then. */
  take(): Buffer {
    const all = this.#bytes.subarray(0, this.#length);
    this.clear();
    return all;
  }

  clear(): void {
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
  }
}
