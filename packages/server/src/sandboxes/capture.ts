/** The first bytes of one output channel, never more than the limit. */
export class Capture {
  readonly #limit: number;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  truncated = false;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  add(chunk: Buffer): void {
    const room = this.#limit - this.#size;
    if (chunk.length > room) this.truncated = true;
    if (room <= 0) return;
    const kept = chunk.length > room ? chunk.subarray(0, room) : chunk;
    this.#chunks.push(Buffer.from(kept)); // the receive buffer is written again
    this.#size += kept.length;
  }

  /** A character that the limit cut in two is left out. */
  text(): string {
    const bytes = Buffer.concat(this.#chunks);
    return new TextDecoder().decode(bytes, { stream: this.truncated });
  }
}
