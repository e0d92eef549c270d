import { redactionLimits } from "./limits.ts";
import { type Found, PatternSet } from "./pattern-set.ts";

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

/**
 * Patterns in encoded text whose lines were broken anywhere. The lines of a run are joined, and looked through once: the work for a
 * byte does not grow with the length of a value, however short the lines are.
 */
export class EncodedRuns {
  /** No pattern is longer, with the line breaks in it. */
  readonly reachBytes: number;
  readonly #patterns: PatternSet;
  readonly #shortest: number;
  readonly #longest: number;
  /** Letters of a run that are looked at in one go, besides the pattern that begins at the last. */
  readonly #goLetters: number;
  /** The letters of a run, and where each stands. */
  #letters: Buffer = Buffer.alloc(0);
  #places = new Int32Array(0);

  constructor(patterns: readonly Buffer[]) {
    this.#patterns = new PatternSet(patterns);
    this.#shortest = Math.min(...patterns.map(({ length }) => length));
    this.#longest = this.#patterns.reachBytes;
    this.#goLetters = Math.max(this.#longest, redactionLimits.gatherBytes);
    this.reachBytes = this.#longest + breakBytes(this.#longest);
  }

  /** Reports what begins before `to` and goes on past a line break, in order. */
  find(bytes: Buffer, to: number, found: Found): void {
    const last = Math.min(bytes.length, to + this.reachBytes);
    for (let from = 0; from < to; ) {
      const at = nextBreak(bytes, from, last);
      if (at >= last) return;
      let end = at;
      while (end > from && bytes[end - 1] === carriageReturn) end--;
      const least = Math.max(from, end - this.#longest);
      let start = end;
      while (start > least && isEncoded[bytes[start - 1] as number] === 1) start--;
      from = start === end ? at + 1 : this.#findIn(bytes, start, to, last, found);
    }
  }

  /** Looks through one run. Returns where it ends, or a place from `to` on. */
  #findIn(bytes: Buffer, start: number, to: number, last: number, found: Found): number {
    if (this.#letters.length === 0) {
      this.#letters = Buffer.allocUnsafeSlow(this.#goLetters + this.#longest);
      this.#places = new Int32Array(this.#letters.length);
    }
    const { windowBytes } = this.#patterns;
    for (let from = start; from < to; ) {
      let asked = Math.min(this.#letters.length, to - from + windowBytes);
      let count = this.#join(bytes, from, last, asked);
      let looked = asked - windowBytes + 1;
      if (count >= Math.min(asked, this.#shortest) && this.#patterns.mayHold(this.#letters.subarray(0, count))) {
        asked = this.#letters.length;
        looked = this.#goLetters;
        count = this.#join(bytes, from, last, asked);
        this.#look(count, Math.min(count, looked), to, found);
      }
      if (count < asked) return (this.#places[count - 1] as number) + 1;
      from = this.#places[looked] as number;
    }
    return to;
  }

  #look(count: number, size: number, to: number, found: Found): void {
    const places = this.#places;
    const ending = (end: number) => (places[end - 1] as number) + 1;
    const isBroken = (start: number, end: number) => {
      const added = ending(end) - (places[start] as number) - (end - start);
      return added > 0 && added <= breakBytes(end - start);
    };
    const tell = (start: number, end: number) => {
      const place = places[start] as number;
      if (place < to) found(place, ending(end));
    };
    this.#patterns.find(this.#letters.subarray(0, count), size, tell, isBroken);
  }

  /** Joins so many letters of a run that begins with one. Returns how many there are. */
  #join(bytes: Buffer, from: number, last: number, most: number): number {
    const letters = this.#letters;
    const places = this.#places;
    let count = 0;
    for (let at = from; at < last && count < most; ) {
      const byte = bytes[at] as number;
      if (isEncoded[byte] === 1) {
        letters[count] = byte;
        places[count++] = at++;
      } else {
        const next = afterBreak(bytes, at);
        if (next === at) break;
        at = next;
      }
    }
    return count;
  }
}

/** The next line break; a place from `last` on where there is none. Short lines are faster without a call for each. */
function nextBreak(bytes: Buffer, from: number, last: number): number {
  const near = Math.min(last, from + shortLine);
  for (let at = from; at < near; at++) if (bytes[at] === newline) return at;
  if (near === last) return last;
  const found = bytes.indexOf(newline, near);
  return found < 0 ? last : found;
}

/** The first place after line breaks; the same where none begins. */
function afterBreak(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === carriageReturn) at++;
  if (bytes[at] !== newline) return from;
  while (bytes[at] === newline || bytes[at] === carriageReturn) at++;
  return at;
}
