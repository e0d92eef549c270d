const GiB = 1024 ** 3;

/** What is saved of running sandboxes. */
export const checkpointLimits = {
  /** Of one saved memory, compressed as gVisor writes it. */
  memoryBytes: 4 * GiB,
  /** Held by one engine at a time. */
  atOnce: 16,
  saveTimeoutMs: 60_000,
  /** Kept, of one namespace. */
  perNamespace: 32,
  nameCharacters: 200,
  /** Of what is known of its interpreters. */
  contextBytes: 4 * 1024 ** 2,
} as const;

/** Copies of one sandbox. */
export const forkLimits = {
  copies: { default: 1, min: 1, max: 16 },
  /** Made at the same time. */
  atOnce: 4,
} as const;
