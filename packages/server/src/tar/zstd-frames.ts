import { AppError } from "../core/errors.ts";
import { archiveLimits } from "./limits.ts";

const magic = 0xfd2fb528;
/** Of frames that a decoder passes over: `zstd:chunked` keeps its table of contents in one. Sixteen numbers. */
const skippable = 0x184d2a50;
const isSkippable = (number: number) => (number & 0xfffffff0) >>> 0 === skippable;

export const startsZstd = (head: Buffer) => head.length >= 4 && isKnown(head.readUInt32LE());
const isKnown = (number: number) => number === magic || isSkippable(number);

/** What the bytes at hand are: the start of a frame, its descriptor, the head of a block, the size of what is passed over. */
type Part = "magic" | "descriptor" | "block" | "skipped";
const partBytes = { magic: 4, descriptor: 1, block: 3, skipped: 4 } as const;

/**
 * The same bytes, cut where frames end (RFC 8878): Node's decoder goes on with the next frame in the next piece, and drops
 * what follows a frame in the same one.
 */
export async function* zstdFrames(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const frames = new FrameEnds();
  for await (const piece of source) yield* frames.cut(piece);
}

class FrameEnds {
  #part: Part = "magic";
  #head: number[] = [];
  /** Bytes that are of no interest. */
  #pass = 0;
  #hasChecksum = false;
  #isLast = false;
  #frames = 0;

  *cut(piece: Uint8Array): Generator<Uint8Array> {
    let from = 0;
    for (let at = 0; at < piece.length; ) {
      if (this.#pass === 0) this.#take(piece[at++] ?? 0);
      const passed = Math.min(this.#pass, piece.length - at);
      at += passed;
      this.#pass -= passed;
      if (!this.#isLast || this.#pass > 0) continue;
      yield piece.subarray(from, at);
      from = at;
      this.#isLast = false;
      this.#part = "magic";
    }
    if (from < piece.length) yield piece.subarray(from);
  }

  #take(byte: number): void {
    this.#head.push(byte);
    if (this.#head.length < partBytes[this.#part]) return;
    const number = Buffer.from([...this.#head, 0, 0, 0]).readUInt32LE();
    this.#head = [];
    this[this.#part](number);
  }

  magic(number: number): void {
    if (!isKnown(number)) throw new AppError("invalid", "the archive is refused: data follows the end of its zstd");
    if (++this.#frames > archiveLimits.zstdFrames)
      throw new AppError("invalid", `the archive is refused: it has more than ${archiveLimits.zstdFrames} frames`);
    this.#part = number === magic ? "descriptor" : "skipped";
  }

  skipped(size: number): void {
    this.#pass = size;
    this.#isLast = true;
  }

  descriptor(flags: number): void {
    const isSingle = (flags & 0x20) !== 0;
    const windowBytes = isSingle ? 0 : 1;
    const dictionaryBytes = [0, 1, 2, 4][flags & 3] ?? 0;
    const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][flags >>> 6] ?? 0;
    this.#hasChecksum = (flags & 4) !== 0;
    this.#pass = windowBytes + dictionaryBytes + sizeBytes;
    this.#part = "block";
  }

  block(head: number): void {
    const isRepeated = ((head >>> 1) & 3) === 1;
    this.#isLast = (head & 1) !== 0;
    this.#pass = (isRepeated ? 1 : head >>> 3) + (this.#isLast && this.#hasChecksum ? 4 : 0);
  }
}
