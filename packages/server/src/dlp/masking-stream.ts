import { redactionLimits } from "../core/limits.ts";
import { type RedactionMode, type RedactionStream, redacted } from "../core/redaction.ts";
import { blockAt, type PatternSet } from "./pattern-set.ts";

const mark = Buffer.from(redacted);
const stars = Buffer.alloc(4096, "*");
const nothing = Buffer.alloc(0);

/** A long pattern whose head was found at the end of what has come: how much of it has. */
interface Tail {
  pattern: Buffer;
  matched: number;
}

/**
 * Every place is looked at as the beginning of a pattern, in order, and decided once: so the outcome does not depend on
 * how the bytes were cut. What overlaps is masked as one; what touches is not.
 */
export class MaskingStream implements RedactionStream {
  readonly #patterns: () => PatternSet | undefined;
  readonly #fills: boolean;
  /** From the first place that is not decided. */
  #held: Buffer = nothing;
  /** Up to here, in `#bytes`, all is emitted or masked. */
  #done = 0;
  #maskEnd = 0;
  #tails: Tail[] = [];
  /** Up to where each long pattern has been followed: one that begins before it is not followed too. */
  readonly #tailEnds = new Map<Buffer, number>();
  #bytes: Buffer = nothing;
  #at = 0;
  #out: Buffer[] = [];
  /** How many values were taken out. */
  masks = 0;

  constructor(patterns: () => PatternSet | undefined, mode: RedactionMode) {
    this.#patterns = patterns;
    this.#fills = mode === "fill";
  }

  get heldBytes(): number {
    return this.#held.length - this.#done;
  }

  push(chunk: Buffer): Buffer[] {
    if (chunk.length === 0) return [];
    const set = this.#patterns();
    if (set === undefined) return [chunk];
    const before = this.#held.length;
    this.#bytes = before === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#followTails(before);
    this.#scan(set);
    const from = this.#at;
    this.#emit(from);
    this.#held = from === this.#bytes.length ? nothing : Buffer.from(this.#bytes.subarray(from));
    this.#done = Math.max(0, this.#done - from);
    this.#maskEnd = Math.max(0, this.#maskEnd - from);
    for (const [pattern, end] of this.#tailEnds)
      if (end > from) this.#tailEnds.set(pattern, end - from);
      else this.#tailEnds.delete(pattern);
    return this.#take();
  }

  release(): Buffer[] {
    const { idleShare, idleBytes } = redactionLimits;
    const set = this.#patterns();
    const most = Math.min(idleBytes, Math.floor((set?.windowBytes ?? 0) * idleShare));
    if (this.#held.length > most || this.heldBytes <= 0) return [];
    const out = [this.#held.subarray(this.#done)];
    this.#done = this.#held.length;
    return out;
  }

  /** The beginning of a value that is half there is masked too. */
  end(): Buffer[] {
    const set = this.#patterns();
    if (set === undefined) return [];
    this.#bytes = this.#held;
    const size = this.#bytes.length;
    for (this.#at = 0; this.#at < size; this.#at++) {
      const whole = set.walk(this.#bytes, this.#at, this.#found);
      if ((size - this.#at) * 2 >= whole && whole !== 0) this.#mask(this.#at, size);
    }
    this.#emit(size);
    this.#held = nothing;
    this.#done = this.#maskEnd = 0;
    this.#tails = [];
    this.#tailEnds.clear();
    return this.#take();
  }

  /** Leaves `#at` at the first place that what comes next decides. */
  #scan(set: PatternSet): void {
    const { shifts, windowBytes } = set;
    const bytes = this.#bytes;
    const last = bytes.length - windowBytes;
    const block = windowBytes - 3;
    let at = 0;
    for (;;) {
      while (at <= last) {
        const shift = shifts[blockAt(bytes, at + block)] as number;
        if (shift === 0) break;
        at += shift;
      }
      if (at >= bytes.length) break;
      this.#at = at;
      if (set.walk(bytes, at, this.#found) !== 0) return;
      at++;
    }
    this.#at = bytes.length;
  }

  readonly #found = (pattern: Buffer, head: number): void => {
    const end = this.#at + head;
    this.#mask(this.#at, end);
    if (head === pattern.length || this.#at < (this.#tailEnds.get(pattern) ?? 0)) return;
    const tail = { pattern, matched: head };
    if (this.#follow(tail, end)) this.#tails.push(tail);
  };

  #followTails(from: number): void {
    this.#tails = this.#tails.filter((tail) => this.#follow(tail, from));
  }

  /** Masks what goes on like the pattern. True while it may go on. */
  #follow(tail: Tail, from: number): boolean {
    const { pattern } = tail;
    let at = from;
    while (at < this.#bytes.length && tail.matched < pattern.length && this.#bytes[at] === pattern[tail.matched]) {
      at++;
      tail.matched++;
    }
    this.#maskTo(at);
    this.#tailEnds.set(pattern, at);
    return at === this.#bytes.length && tail.matched < pattern.length;
  }

  #mask(start: number, end: number): void {
    if (start >= this.#maskEnd) {
      this.#emit(start);
      this.masks++;
      if (!this.#fills) this.#out.push(mark);
    }
    this.#maskTo(end);
  }

  #maskTo(end: number): void {
    this.#maskEnd = Math.max(this.#maskEnd, end);
    if (this.#fills)
      for (let left = end - this.#done; left > 0; left -= stars.length) this.#out.push(stars.subarray(0, left));
    this.#done = Math.max(this.#done, end);
  }

  #emit(end: number): void {
    if (end <= this.#done) return;
    this.#out.push(this.#bytes.subarray(this.#done, end));
    this.#done = end;
  }

  #take(): Buffer[] {
    const out = this.#out;
    this.#out = [];
    this.#bytes = nothing;
    return out;
  }
}
