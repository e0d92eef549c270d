const MiB = 1024 ** 2;
const GiB = 1024 ** 3;

/** Saved memory and files of running sandboxes. */
export const checkpointLimits = {
  /** Maximum size of one saved memory. */
  memoryBytes: 4 * GiB,
  /** Checkpoints that one engine holds at a time. */
  atOnce: 16,
  saveTimeoutMs: 60_000,
  /** Growth of a sandbox's memory between its measurement and the moment at which the sandbox is paused. */
  growthBytes: 128 * MiB,
  /** Memory of the machine that saved and resumed sandboxes never take. */
  hostMemoryBytes: 512 * MiB,
  memoryRetryMs: 5_000,
  /** Pieces of memory that are compressed at the same time while it is sealed or opened. */
  piecesAtOnce: 4,
  /** Maximum size of an engine's record of a kept checkpoint. */
  recordBytes: 1 * MiB,
  /** Kept checkpoints of one namespace. */
  perNamespace: 32,
  nameCharacters: 200,
  /** Maximum size of the record of its interpreters. */
  contextBytes: 4 * MiB,
} as const;

/** Copies of one sandbox. */
export const forkLimits = {
  copies: { default: 1, min: 1, max: 16 },
  /** Made at the same time. */
  atOnce: { default: 4, min: 1, max: 16 },
} as const;
