const KiB = 1024;

/** Taking values out of what leaves. */
export const redactionLimits = {
  /** Sizes of one value. Shorter ones are ordinary words; those up to `warnBytes` may be. */
  leastBytes: 6,
  warnBytes: 7,
  mostBytes: 64 * KiB,
  values: 256,
  /** The part of a long form that a trie holds; what follows is compared. */
  headShare: 0.25,
  headLeastBytes: 32,
  headMostBytes: 1_024,
  windowBytes: 32,
  /** Lines of an encoded text that a value is looked for across have so many letters or more. */
  lineLeastBytes: 16,
  /** Every byte of live output waits for one to two ticks, unless enough bytes come after it. */
  tickMs: 15,
  /** Smaller chunks are gathered before they are looked through. */
  gatherBytes: 4 * KiB,
  /** Halves of a value that are printed without the rest: so many within a time are an event, and the next is one after another time. */
  partLeastBytes: 8,
  parts: 16,
  /** Output that is searched for them in a second. */
  partsBytes: 512 * KiB,
  partsMs: 60_000,
  partsQuietMs: 600_000,
  /** Depth of nested values; more than a context may nest. */
  depth: 80,
} as const;
