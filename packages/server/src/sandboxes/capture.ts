/** The first bytes of one output channel, never more than the limit, in one buffer however small the pieces were. */
export class Capture {
  readonly #limit: number;
  #buffer = Buffer.alloc(0);
  #size = 0;
  truncated = false;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  add(chunk: Buffer): void {
    const room = this.#limit - this.#size;
    if (chunk.length > room) this.truncated = true;
    const taken = Math.min(chunk.length, room);
    if (this.#size + taken > this.#buffer.length) this.#grow(this.#size + taken);
    chunk.copy(this.#buffer, this.#size, 0, taken);
    this.#size += taken;
  }

  /** A character that the limit cut in two is left out. */
  text(): string {
    if (this.#size === 0) return "";
    return new TextDecoder().decode(this.#buffer.subarray(0, this.#size), { stream: this.truncated });
  }

  #grow(size: number): void {
    const larger = Buffer.allocUnsafe(Math.min(this.#limit, Math.max(size, 2 * this.#buffer.length, 4096)));
    this.#buffer.copy(larger, 0, 0, this.#size);
    this.#buffer = larger;
  }
}
