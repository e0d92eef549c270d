import { redactionLimits } from "../core/limits.ts";

const blockBytes = 3;
const tableBits = 15;
const tableMask = (1 << tableBits) - 1;

/** Of three bytes that stand one after the other. */
export function blockAt(bytes: Uint8Array, at: number): number {
  return (((bytes[at] as number) << 10) ^ ((bytes[at + 1] as number) << 5) ^ (bytes[at + 2] as number)) & tableMask;
}

/** How much of a pattern must be there before it counts as found: all of a short one, the first part of a long one. */
function headBytes(pattern: Buffer): number {
  const part = Math.ceil(pattern.length * redactionLimits.headShare);
  const most = Math.min(Math.max(part, redactionLimits.headLeastBytes), redactionLimits.headMostBytes);
  return Math.min(pattern.length, most);
}

/**
 * Patterns to look for at once. `shifts` says by the last block of a window how many places no pattern can begin at
 * (Wu and Manber, 1994); where it says 0, `walk` follows the trie of the patterns' heads.
 */
export class PatternSet {
  /** Of a window: no head is shorter. */
  readonly windowBytes: number;
  readonly shifts: Uint8Array;
  /** No pattern is longer. */
  readonly reachBytes: number;
  readonly patterns: readonly Buffer[];
  readonly #first = new Int32Array(256);
  readonly #byte: Uint8Array;
  readonly #child: Int32Array;
  readonly #sibling: Int32Array;
  /** Of the patterns whose head ends at a node: one, and by `#next` the others. From 1; 0 is none. */
  readonly #ends: Int32Array;
  readonly #next: Int32Array;
  readonly #shortest: Int32Array;
  #nodes = 1;

  constructor(patterns: readonly Buffer[]) {
    this.patterns = patterns;
    const heads = patterns.map((pattern) => pattern.subarray(0, headBytes(pattern)));
    const sizes = heads.map((head) => head.length);
    const nodes = 1 + sizes.reduce((sum, size) => sum + size, 0);
    this.reachBytes = Math.max(0, ...patterns.map(({ length }) => length));
    this.windowBytes = Math.min(redactionLimits.windowBytes, ...sizes);
    this.shifts = new Uint8Array(tableMask + 1).fill(this.windowBytes - blockBytes + 1);
    this.#byte = new Uint8Array(nodes);
    this.#child = new Int32Array(nodes);
    this.#sibling = new Int32Array(nodes);
    this.#ends = new Int32Array(nodes);
    this.#shortest = new Int32Array(nodes);
    this.#next = new Int32Array(patterns.length + 1);
    heads.forEach((head, index) => {
      this.#add(head, index + 1);
    });
  }

  #add(head: Buffer, number: number): void {
    for (let at = 0; at + blockBytes <= this.windowBytes; at++) {
      const block = blockAt(head, at);
      this.shifts[block] = Math.min(this.shifts[block] as number, this.windowBytes - blockBytes - at);
    }
    let node = 0;
    for (const byte of head) {
      let next = this.#step(node, byte);
      if (next === 0) next = this.#grow(node, byte);
      const shortest = this.#shortest[next] as number;
      if (shortest === 0 || head.length < shortest) this.#shortest[next] = head.length;
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

  /** Follows heads from a place on. Calls `found` with each pattern whose head is there. Returns what the last node says of a walk that met the end of the bytes, 0 of one that did not. */
  walk(bytes: Uint8Array, from: number, found: (pattern: Buffer, head: number) => void): number {
    let node = 0;
    for (let at = from; at < bytes.length; at++) {
      node = this.#step(node, bytes[at] as number);
      if (node === 0) return 0;
      for (let number = this.#ends[node] as number; number !== 0; number = this.#next[number] as number)
        found(this.patterns[number - 1] as Buffer, at + 1 - from);
      if (this.#child[node] === 0) return 0;
    }
    return this.#shortest[node] as number;
  }
}
