import { redactionLimits } from "./limits.ts";

const blockBytes = 3;
const tableBits = 15;
const tableMask = (1 << tableBits) - 1;
const tableSize = 1 << tableBits;

/** Of three bytes that stand one after the other. */
function blockOf(first: number, second: number, third: number): number {
  return ((first << 10) ^ (second << 5) ^ third) & tableMask;
}

function blockAt(bytes: Uint8Array, at: number): number {
  return blockOf(bytes[at] as number, bytes[at + 1] as number, bytes[at + 2] as number);
}

/** How much of a pattern the trie holds: all of a short one, the first part of a long one. */
function headBytes(pattern: Buffer): number {
  const part = Math.ceil(pattern.length * redactionLimits.headShare);
  const most = Math.min(Math.max(part, redactionLimits.headLeastBytes), redactionLimits.headMostBytes);
  return Math.min(pattern.length, most);
}

/** Place of a pattern. */
export type Found = (start: number, end: number) => void;
type Fits = (start: number, end: number) => boolean;

/**
 * Patterns to look for at once. A table of shifts says by the last block of a window how many places no pattern can begin at
 * (Wu and Manber, 1994); where it says 0, a trie of the patterns' heads is followed and the rest compared.
 */
export class PatternSet {
  /** No pattern is longer. */
  readonly reachBytes: number;
  /** No head is shorter. */
  readonly windowBytes: number;
  readonly #shifts: Uint8Array;
  readonly #patterns: readonly Buffer[];
  readonly #first = new Int32Array(256);
  readonly #byte: Uint8Array;
  readonly #child: Int32Array;
  readonly #sibling: Int32Array;
  /** Of the patterns whose head ends at a node: one, and by `#next` the others. From 1; 0 is none. */
  readonly #ends: Int32Array;
  readonly #next: Int32Array;
  #nodes = 1;

  constructor(patterns: readonly Buffer[]) {
    this.#patterns = patterns;
    const heads = patterns.map((pattern) => pattern.subarray(0, headBytes(pattern)));
    const sizes = heads.map((head) => head.length);
    const nodes = 1 + sizes.reduce((sum, size) => sum + size, 0);
    this.reachBytes = patterns.reduce((most, { length }) => Math.max(most, length), 0);
    this.windowBytes = Math.min(redactionLimits.windowBytes, ...sizes);
    this.#shifts = new Uint8Array(tableSize).fill(this.windowBytes - blockBytes + 1);
    this.#byte = new Uint8Array(nodes);
    this.#child = new Int32Array(nodes);
    this.#sibling = new Int32Array(nodes);
    this.#ends = new Int32Array(nodes);
    this.#next = new Int32Array(patterns.length + 1);
    heads.forEach((head, index) => {
      this.#add(head, index + 1);
    });
  }

  #add(head: Buffer, number: number): void {
    for (let at = 0; at + blockBytes <= this.windowBytes; at++) {
      const block = blockAt(head, at);
      this.#shifts[block] = Math.min(this.#shifts[block] as number, this.windowBytes - blockBytes - at);
    }
    let node = 0;
    for (const byte of head) {
      let next = this.#step(node, byte);
      if (next === 0) next = this.#grow(node, byte);
      node = next;
    }
    this.#next[number] = this.#ends[node] as number;
    this.#ends[node] = number;
  }

  #grow(node: number, byte: number): number {
    const made = this.#nodes++;
    this.#byte[made] = byte;
    if (node === 0) this.#first[byte] = made;
    else {
      this.#sibling[made] = this.#child[node] as number;
      this.#child[node] = made;
    }
    return made;
  }

  #step(node: number, byte: number): number {
    if (node === 0) return this.#first[byte] as number;
    let next = this.#child[node] as number;
    while (next !== 0 && this.#byte[next] !== byte) next = this.#sibling[next] as number;
    return next;
  }

  /** No when the bytes hold no pattern, and no beginning of one that is as long as a window. */
  mayHold(bytes: Buffer): boolean {
    const block = this.windowBytes - blockBytes;
    for (let at = 0; at + this.windowBytes <= bytes.length; ) {
      const shift = this.#shifts[blockAt(bytes, at + block)] as number;
      if (shift === 0) return true;
      at += shift;
    }
    return false;
  }

  /** Reports the longest pattern that fits at each place before `to`, in order. */
  find(bytes: Buffer, to: number, found: Found, fits?: Fits): void {
    const shifts = this.#shifts;
    const block = this.windowBytes - blockBytes;
    const end = Math.min(to, bytes.length - this.windowBytes + 1);
    for (let at = 0; at < end; ) {
      const shift = shifts[blockAt(bytes, at + block)] as number;
      if (shift === 0) this.#look(bytes, at, found, fits);
      at += shift === 0 ? 1 : shift;
    }
  }

  #look(bytes: Buffer, from: number, found: Found, fits: Fits | undefined): void {
    let end = 0;
    let node = 0;
    for (let at = from; at < bytes.length; at++) {
      node = this.#step(node, bytes[at] as number);
      if (node === 0) break;
      for (let number = this.#ends[node] as number; number !== 0; number = this.#next[number] as number) {
        const pattern = this.#patterns[number - 1] as Buffer;
        const to = from + pattern.length;
        if (to <= end || to > bytes.length || fits?.(from, to) === false) continue;
        if (bytes.compare(pattern, at + 1 - from, pattern.length, at + 1, to) === 0) end = to;
      }
      if (this.#child[node] === 0) break;
    }
    if (end > 0) found(from, end);
  }
}
