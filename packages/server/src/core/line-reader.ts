import { BytePile } from "../lib/byte-pile.ts";
import { AppError } from "./errors.ts";

const newline = 10;
const nothing = Buffer.alloc(0);

/** Cuts a stream of bytes into lines of a bounded length. */
export class LineReader {
  readonly #mostBytes: number;
  readonly #pile = new BytePile();
  #chunk: Buffer = nothing;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  push(chunk: Buffer): void {
    this.#chunk = this.#chunk.length === 0 ? chunk : Buffer.concat([this.#chunk, chunk]);
  }

  /** Undefined until more bytes come. */
  next(): string | undefined {
    const end = this.#chunk.indexOf(newline);
    const part = end < 0 ? this.#chunk : this.#chunk.subarray(0, end);
    if (this.#pile.length + part.length > this.#mostBytes)
      throw new AppError("too_large", `the message is too large (limit: ${this.#mostBytes} bytes)`);
    if (end < 0) {
      this.#pile.push(part);
      this.#chunk = nothing;
      return undefined;
    }
    this.#chunk = this.#chunk.subarray(end + 1);
    if (this.#pile.length === 0) return part.toString();
    this.#pile.push(part);
    return this.#pile.take().toString();
  }
}
