import { type RedactionMode, type RedactionStream, redacted } from "../core/redaction.ts";
import { redactionLimits } from "./limits.ts";
import type { PartCount } from "./part-count.ts";
import type { ValueSet } from "./value-set.ts";

const mark = Buffer.from(redacted);
const stars = Buffer.alloc(4096, "*");
const nothing = Buffer.alloc(0);

/**
 * Every place is looked at as the beginning of a value once as many bytes follow it as the longest form has. So how the bytes
 * were cut does not change the outcome, and what is held back depends on sizes alone, never on what the bytes are (S86).
 * Overlapping values are masked as one, adjacent ones separately.
 */
export class MaskingStream implements RedactionStream {
  readonly #values: () => ValueSet | undefined;
  readonly #fills: boolean;
  readonly #parts: PartCount | undefined;
  /** From the first place that is not decided: `#store` up to `#stored`, as far as there is room in it. */
  #held: Buffer = nothing;
  #store: Buffer = nothing;
  #stored = 0;
  /** End of the part of `#held` that is emitted or masked. */
  #done = 0;
  #maskEnd = 0;
  /** Bytes before `#held`. */
  #offset = 0;
  #out: Buffer[] = [];
  /** How many values were taken out. */
  masks = 0;

  constructor(values: () => ValueSet | undefined, mode: RedactionMode, parts?: PartCount) {
    this.#values = values;
    this.#fills = mode === "fill";
    this.#parts = parts;
  }

  get receivedBytes(): number {
    return this.#offset + this.#held.length;
  }

  get heldBytes(): number {
    return this.#held.length - this.#done;
  }

  push(chunk: Buffer): Buffer[] {
    const values = this.#values();
    if (chunk.length === 0) return [];
    if (values === undefined) {
      this.#offset += chunk.length;
      return [chunk];
    }
    const beyond = values.reachBytes - 1;
    if (chunk.length <= Math.max(beyond, redactionLimits.gatherBytes)) this.#append(chunk);
    else {
      this.#decide(values, Buffer.concat([this.#held, chunk.subarray(0, beyond)]), this.#held.length);
      this.#held = chunk;
    }
    const size = Math.max(0, this.#held.length - beyond);
    this.#decide(values, this.#held, size);
    this.#held = this.#held.subarray(size);
    if (this.#held.buffer === chunk.buffer) this.#append(nothing);
    return this.#take();
  }

  release(toBytes = this.receivedBytes): Buffer[] {
    const values = this.#values();
    const end = Math.min(this.#held.length, toBytes - this.#offset);
    if (values === undefined || end <= this.#done) return [];
    values.find(this.#held, end, (start, stop) => this.#mask(this.#held, start, stop));
    this.#emit(this.#held, end);
    return this.#take();
  }

  end(): Buffer[] {
    const values = this.#values();
    if (values === undefined) return [];
    this.#decide(values, this.#held, this.#held.length);
    this.#held = nothing;
    return this.#take();
  }

  /** The places before `end`, which are not looked at again. */
  #decide(values: ValueSet, bytes: Buffer, end: number): void {
    if (end === 0) return;
    values.find(bytes, end, (start, stop) => this.#mask(bytes, start, stop));
    if (this.#parts?.wants(end) === true) this.#parts.add(values.countHalves(bytes, end));
    this.#emit(bytes, end);
    this.#offset += end;
    this.#done = Math.max(0, this.#done - end);
    this.#maskEnd = Math.max(0, this.#maskEnd - end);
  }

  /** Appends to the store, or starts another one: bytes that were emitted from it never change. */
  #append(chunk: Buffer): void {
    const held = this.#held;
    const size = held.length + chunk.length;
    if (held.buffer !== this.#store.buffer || this.#stored + chunk.length > this.#store.length) {
      this.#store = Buffer.allocUnsafeSlow(2 * Math.max(size, redactionLimits.gatherBytes));
      this.#stored = held.copy(this.#store);
    }
    this.#stored += chunk.copy(this.#store, this.#stored);
    this.#held = this.#store.subarray(this.#stored - size, this.#stored);
  }

  #mask(bytes: Buffer, start: number, end: number): void {
    if (start >= this.#maskEnd) {
      this.#emit(bytes, start);
      this.masks++;
      if (!this.#fills) this.#out.push(mark);
    }
    this.#maskEnd = Math.max(this.#maskEnd, end);
    if (this.#fills)
      for (let left = end - this.#done; left > 0; left -= stars.length) this.#out.push(stars.subarray(0, left));
    this.#done = Math.max(this.#done, end);
  }

  #emit(bytes: Buffer, end: number): void {
    if (end <= this.#done) return;
    this.#out.push(bytes.subarray(this.#done, end));
    this.#done = end;
  }

  #take(): Buffer[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }
}
