import { AppError } from "./errors.ts";

const newline = 10;
const nothing = Buffer.alloc(0);

/** Cuts a stream of bytes into lines of a bounded length. */
export class LineReader {
  readonly #mostBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;
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
    this.#bytes += part.length;
    if (this.#bytes > this.#mostBytes)
      throw new AppError("too_large", `the message is too large (limit: ${this.#mostBytes} bytes)`);
    if (end < 0) {
      if (part.length > 0) this.#parts.push(part);
      this.#chunk = nothing;
      return undefined;
    }
    this.#chunk = this.#chunk.subarray(end + 1);
    const line = this.#parts.length === 0 ? part : Buffer.concat([...this.#parts, part]);
    this.#parts = [];
    this.#bytes = 0;
    return line.toString();
  }
}
