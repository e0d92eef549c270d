/** Takes exact numbers of bytes from pieces that come in any size. */
export class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #piece: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Up to so many bytes, at least one; undefined at the end. They hold for as long as the source's own pieces do. */
  async some(most: number): Promise<Buffer | undefined> {
    while (this.#piece.length === 0) {
      const next = await this.#source.next();
      if (next.done) return undefined;
      const { buffer, byteOffset, byteLength } = next.value;
      this.#piece = Buffer.from(buffer, byteOffset, byteLength);
    }
    const taken = this.#piece.subarray(0, most);
    this.#piece = this.#piece.subarray(taken.length);
    return taken;
  }

  /** So many bytes, or as many as there are before the end. */
  async take(size: number): Promise<Buffer> {
    if (this.#piece.length >= size) {
      const taken = this.#piece.subarray(0, size);
      this.#piece = this.#piece.subarray(size);
      return taken;
    }
    const parts: Buffer[] = [];
    for (let left = size; left > 0; ) {
      const part = await this.some(left);
      if (part === undefined) break;
      parts.push(Buffer.from(part)); // a copy: the next piece may take this one's place
      left -= part.length;
    }
    return Buffer.concat(parts);
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }
}
