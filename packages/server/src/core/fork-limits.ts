const MiB = 1024 ** 2;
const GiB = 1024 ** 3;

/** What is saved of running sandboxes. */
export const checkpointLimits = {
  /** Of one saved memory. */
  memoryBytes: 4 * GiB,
  /** Held by one engine at a time. */
  atOnce: 16,
  saveTimeoutMs: 60_000,
  /** What a sandbox may grow by between the look at its memory and the moment at which it stands still. */
  growthBytes: 128 * MiB,
  /** Of the machine's memory, never taken for what is saved or goes on from it. */
  hostMemoryBytes: 512 * MiB,
  memoryRetryMs: 5_000,
  /** Of memory that is sealed or opened, compressed at the same time. */
  piecesAtOnce: 4,
  /** Of what an engine writes down about one that is kept. */
  recordBytes: 1 * MiB,
  /** Kept, of one namespace. */
  perNamespace: 32,
  nameCharacters: 200,
  /** Of what is known of its interpreters. */
  contextBytes: 4 * MiB,
} as const;

/** Copies of one sandbox. */
export const forkLimits = {
  copies: { default: 1, min: 1, max: 16 },
  /** Made at the same time. */
  atOnce: { default: 4, min: 1, max: 16 },
} as const;
