import { wireLimits } from "./limits.ts";

/**
 * Reads past whatever a former owner left in the FIFO, torn frames included, up to the guest's answer to this owner's
 * nonce. User code cannot have written the nonce: it was not known before (hazard 13).
 */
export class HelloFinder {
  readonly #nonce: Buffer;
  #tail = Buffer.alloc(0);

  constructor(nonce: Buffer) {
    this.#nonce = nonce;
  }

  /** The bytes from the header of HELLO on, once it has come. */
  push(chunk: Buffer): Buffer | undefined {
    const bytes = this.#tail.length === 0 ? chunk : Buffer.concat([this.#tail, chunk]);
    const at = bytes.indexOf(this.#nonce);
    if (at >= wireLimits.headerBytes) return bytes.subarray(at - wireLimits.headerBytes);
    const keep = wireLimits.headerBytes + this.#nonce.length;
    this.#tail = Buffer.from(bytes.subarray(Math.max(0, bytes.length - keep)));
    return undefined;
  }
}
