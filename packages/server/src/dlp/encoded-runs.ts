import { redactionLimits } from "../core/redaction-limits.ts";
import { blockOf, type Found, tableSize } from "./pattern-set.ts";

const newline = 10;
const carriageReturn = 13;
const shortLine = 96;

/** 1 for what base64, base64url and hexadecimal text is made of. */
const isEncoded = new Uint8Array(256);
for (const byte of Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"))
  isEncoded[byte] = 1;

/** Bytes that line breaks may add to a pattern. */
function breakBytes(length: number): number {
  return 2 * (Math.floor(length / redactionLimits.lineLeastBytes) + 1);
}

/** Patterns in encoded text whose lines were broken anywhere: each is looked for across the line breaks. */
export class EncodedRuns {
  /** No pattern is longer, with the line breaks in it. */
  readonly reachBytes: number;
  readonly #patterns: readonly Buffer[];
  readonly #shortest: number;
  readonly #longest: number;
  /** Of the patterns that begin with a block: one, and by `#next` the others. From 1; 0 is none. */
  readonly #heads = new Int32Array(tableSize);
  readonly #next: Int32Array;

  constructor(patterns: readonly Buffer[]) {
    this.#patterns = patterns;
    const sizes = patterns.map(({ length }) => length);
    this.#shortest = Math.min(...sizes);
    this.#longest = sizes.reduce((most, size) => Math.max(most, size), 0);
    this.reachBytes = this.#longest + breakBytes(this.#longest);
    this.#next = new Int32Array(patterns.length + 1);
    patterns.forEach((pattern, index) => {
      const block = blockOf(pattern[0] as number, pattern[1] as number, pattern[2] as number);
      this.#next[index + 1] = this.#heads[block] as number;
      this.#heads[block] = index + 1;
    });
  }

  /** Tells what begins before `to` and goes on past a line break, in order. */
  find(bytes: Buffer, to: number, found: Found): void {
    const last = Math.min(bytes.length - 1, to + this.#longest);
    for (let at = nextBreak(bytes, 0, last); at < last; at = nextBreak(bytes, at + 1, last)) {
      const end = bytes[at - 1] === carriageReturn ? at - 1 : at;
      if (isEncoded[bytes[end - 1] as number] !== 1 || isEncoded[bytes[at + 1] as number] !== 1) continue;
      const least = Math.max(0, end - this.#longest);
      let start = end - 1;
      while (start > least && isEncoded[bytes[start - 1] as number] === 1) start--;
      if (this.#goesOn(bytes, at + 1, this.#shortest - (end - start))) this.#lookAt(bytes, start, end, to, found);
    }
  }

  /** The places of one line. */
  #lookAt(bytes: Buffer, start: number, end: number, to: number, found: Found): void {
    const heads = this.#heads;
    const inLine = Math.min(end - 2, to);
    let place = start;
    for (; place < inLine; place++) {
      const block = blockOf(bytes[place] as number, bytes[place + 1] as number, bytes[place + 2] as number);
      if (heads[block] !== 0) this.#look(bytes, place, block, found);
    }
    for (; place < end && place < to; place++) {
      const second = nextLetter(bytes, place + 1);
      const third = nextLetter(bytes, second + 1);
      this.#look(bytes, place, blockOf(bytes[place] as number, bytes[second] as number, bytes[third] as number), found);
    }
  }

  /** Whether there are so many more letters. */
  #goesOn(bytes: Buffer, from: number, count: number): boolean {
    let at = from - 1;
    for (let left = count; left > 0; left--) {
      at = nextLetter(bytes, at + 1);
      if (isEncoded[bytes[at] as number] !== 1) return false;
    }
    return true;
  }

  #look(bytes: Buffer, from: number, block: number, found: Found): void {
    let end = 0;
    for (let one = this.#heads[block] as number; one !== 0; one = this.#next[one] as number)
      end = Math.max(end, endOf(bytes, from, this.#patterns[one - 1] as Buffer));
    if (end > 0) found(from, end);
  }
}

/** The next line break, or `last`. Short lines are faster without a call for each. */
function nextBreak(bytes: Buffer, from: number, last: number): number {
  const near = Math.min(last, from + shortLine);
  for (let at = from; at < near; at++) if (bytes[at] === newline) return at;
  if (near === last) return last;
  const found = bytes.indexOf(newline, near);
  return found < 0 ? last : found;
}

/** The first place from one on that is no line break. */
function nextLetter(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === newline || bytes[at] === carriageReturn) at++;
  return at;
}

/** Where a pattern ends whose lines may be broken; 0 where it is not. */
function endOf(bytes: Buffer, from: number, pattern: Buffer): number {
  const last = from + pattern.length + breakBytes(pattern.length);
  let at = from;
  for (const letter of pattern) {
    at = nextLetter(bytes, at);
    if (at >= last || bytes[at] !== letter) return 0;
    at++;
  }
  return at;
}
