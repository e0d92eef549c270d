import { wireLimits } from "../wire/limits.ts";

/**
 * Pieces that wait for a slow consumer. A guest may send its window a byte at a time: small pieces are gathered, so that
 * their number is bounded by the window, and taking one costs the same however many wait.
 */
export class ChunkQueue {
  #chunks: Buffer[] = [];
  #first = 0;
  #tail: Buffer | undefined;
  #tailSize = 0;

  push(chunk: Buffer): void {
    if (chunk.length > wireLimits.receiveCopyBytes) {
      this.#seal();
      this.#chunks.push(chunk);
      return;
    }
    if (this.#tail === undefined || this.#tailSize + chunk.length > this.#tail.length) {
      this.#seal();
      this.#tail = Buffer.allocUnsafeSlow(2 * wireLimits.receiveCopyBytes);
    }
    chunk.copy(this.#tail, this.#tailSize);
    this.#tailSize += chunk.length;
  }

  shift(): Buffer | undefined {
    if (this.#first === this.#chunks.length) this.#seal();
    const chunk = this.#chunks[this.#first];
    if (chunk === undefined) return undefined;
    this.#first++;
    if (this.#first === this.#chunks.length) {
      this.#chunks = [];
      this.#first = 0;
    }
    return chunk;
  }

  #seal(): void {
    if (this.#tail !== undefined && this.#tailSize > 0) this.#chunks.push(this.#tail.subarray(0, this.#tailSize));
    this.#tail = undefined;
    this.#tailSize = 0;
  }
}
