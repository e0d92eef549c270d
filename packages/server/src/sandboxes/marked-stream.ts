import { contextLimits } from "../core/limits.ts";
import { KernelViolation } from "./kernel-message.ts";

export const markBytes = 16;
const headerBytes = markBytes + 3;
export const fullPayloadBytes = contextLimits.frameBytes - headerBytes;

export interface MarkedListener {
  /** Bytes of the user's. A promise says when they are done with. */
  output(chunk: Buffer): Promise<unknown> | undefined;
  frame(kind: string, payload: Buffer): void;
}

/**
 * One output stream of a kernel: the user's bytes, and between them frames of the kernel's, each begun by the context's
 * mark. So a frame comes after everything that was written before it. Code can forge frames, of its own context only.
 */
export class MarkedStream {
  readonly #mark: Buffer;
  readonly #listener: MarkedListener;
  /** The beginning of a mark or of a frame, never a whole one. */
  #rest: Buffer;

  constructor(mark: Buffer, listener: MarkedListener, rest: Buffer = Buffer.alloc(0)) {
    this.#mark = mark;
    this.#listener = listener;
    this.#rest = rest;
  }

  /** What another that goes on from here begins with. */
  get rest(): Buffer {
    return this.#rest;
  }

  /** Undefined when everything in the chunk is done with. */
  push(chunk: Buffer): Promise<unknown> | undefined {
    const data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const waits: Promise<unknown>[] = [];
    const output = (from: number, to: number) => {
      const wait = to > from ? this.#listener.output(data.subarray(from, to)) : undefined;
      if (wait !== undefined) waits.push(wait);
    };
    let at = 0;
    for (;;) {
      const found = data.indexOf(this.#mark, at);
      const end = found < 0 ? data.length - this.#partOfMark(data, at) : found;
      output(at, end);
      at = end;
      if (found < 0 || data.length - at < headerBytes) break;
      const size = headerBytes + data.readUInt16LE(at + markBytes + 1);
      if (size > contextLimits.frameBytes) throw new KernelViolation("a frame that is too long");
      if (data.length - at < size) break;
      this.#listener.frame(String.fromCharCode(data[at + markBytes] ?? 0), data.subarray(at + headerBytes, at + size));
      at += size;
    }
    this.#rest = Buffer.from(data.subarray(at));
    return waits.length === 0 ? undefined : Promise.all(waits);
  }

  /** What is left when the stream has ended is the user's. */
  end(): void {
    if (this.#rest.length > 0) this.#listener.output(this.#rest)?.catch(() => undefined);
    this.#rest = Buffer.alloc(0);
  }

  /** How many bytes at the end of the data may be the beginning of a mark. */
  #partOfMark(data: Buffer, from: number): number {
    for (let size = Math.min(markBytes - 1, data.length - from); size > 0; size--)
      if (data.compare(this.#mark, 0, size, data.length - size) === 0) return size;
    return 0;
  }
}
