import { BytePile } from "../lib/byte-pile.ts";

const NEWLINE = 10;

/** In place of a line that is longer than allowed: its bytes are dropped up to the next line. */
export const tooLong = Symbol("a line that is too long");

/** Cuts what a hostile program writes into lines, in bounded memory. */
export class ByteLines {
  readonly #mostBytes: number;
  readonly #pile = new BytePile();
  #isDropping = false;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  *push(chunk: Buffer): Generator<Buffer | typeof tooLong> {
    for (let rest = chunk; rest.length > 0; ) {
      const end = rest.indexOf(NEWLINE);
      const part = end < 0 ? rest : rest.subarray(0, end);
      if (this.#hold(part)) yield tooLong;
      if (end < 0) return;
      rest = rest.subarray(end + 1);
      const isWhole = !this.#isDropping;
      const line = this.#pile.take();
      this.#isDropping = false;
      if (isWhole) yield line;
    }
  }

  /** True if the line has become too long with this part. */
  #hold(part: Buffer): boolean {
    if (this.#isDropping) return false;
    if (this.#pile.length + part.length <= this.#mostBytes) {
      this.#pile.push(part);
      return false;
    }
    this.#pile.clear();
    this.#isDropping = true;
    return true;
  }
}
