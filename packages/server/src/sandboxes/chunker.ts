import { createHash, type Hash } from "node:crypto";
import { snapshotLimits } from "./snapshot-limits.ts";

/** A number for each byte. What is stored depends on them: another table would share no chunk with this one. */
const gear = Int32Array.from({ length: 256 }, (_, byte) =>
  createHash("sha256").update(`caisson chunk ${byte}`).digest().readInt32LE(),
);
const mask = -1 << (32 - snapshotLimits.averageBits);

export interface Chunk {
  digest: string;
  bytes: Buffer;
}

/**
 * Cuts a file where its own bytes say so, which an insertion before moves along; a small file is one chunk.
 * A piece at a time: no call works on more than the piece it is given.
 */
export class Chunker {
  readonly #isWhole: boolean;
  #parts: Buffer[] = [];
  #length = 0;
  #hash = createHash("sha256");
  #roll = 0;
  readonly #file: Hash | undefined;
  #digest = "";

  constructor(fileBytes: number) {
    this.#isWhole = fileBytes <= snapshotLimits.wholeBytes;
    this.#file = this.#isWhole ? undefined : createHash("sha256");
  }

  /** The chunks that end in this piece. The piece's bytes are held until the chunk's end. */
  push(piece: Buffer): Chunk[] {
    const chunks: Chunk[] = [];
    this.#file?.update(piece);
    for (let at = 0; at < piece.length; ) {
      const end = this.#isWhole ? piece.length : this.#cut(piece, at);
      const part = piece.subarray(at, end < 0 ? piece.length : end);
      this.#add(part);
      at += part.length;
      if (end >= 0 && !this.#isWhole) chunks.push(this.#end());
    }
    return chunks;
  }

  /** What is left at the end of the file. */
  finish(): Chunk | undefined {
    const last = this.#length > 0 ? this.#end() : undefined;
    const empty = () => createHash("sha256").digest("hex");
    this.#digest = this.#file?.digest("hex") ?? last?.digest ?? empty();
    return last;
  }

  /** Of the whole file, once it is finished. */
  get sha256(): string {
    return this.#digest;
  }

  /** Where the chunk ends in this piece, or -1. */
  #cut(piece: Buffer, from: number): number {
    const { chunkLeastBytes: least, chunkMostBytes: most } = snapshotLimits;
    const start = Math.min(piece.length, from + Math.max(0, least - this.#length));
    const end = Math.min(piece.length, from + most - this.#length);
    let roll = this.#roll;
    for (let i = start; i < end; i++) {
      roll = ((roll << 1) + (gear[piece[i] ?? 0] ?? 0)) | 0;
      if ((roll & mask) === 0) return i + 1;
    }
    this.#roll = roll;
    return end - from === most - this.#length ? end : -1;
  }

  #add(part: Buffer): void {
    this.#parts.push(part);
    this.#length += part.length;
    this.#hash.update(part);
  }

  #end(): Chunk {
    const chunk = { digest: this.#hash.digest("hex"), bytes: Buffer.concat(this.#parts) };
    this.#parts = [];
    this.#length = 0;
    this.#hash = createHash("sha256");
    this.#roll = 0;
    return chunk;
  }
}
