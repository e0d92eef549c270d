/** Limits on templates and their builds. */
const MiB = 1024 ** 2;

export const templateLimits = {
  /** Templates of one namespace, including failed ones. */
  templates: 64,
  nameCharacters: 64,
  descriptionCharacters: 500,
  files: 100,
  fileBytes: 4 * MiB,
  filesBytes: 8 * MiB,
  /** Packages of each package manager. */
  packages: 200,
  packageCharacters: 200,
  warmUpBytes: 256 * 1024,
  /** One run of the warm-up. */
  warmUpMs: 300_000,
  /** All steps together. */
  buildMs: 3_600_000,
  /** Characters of a failed step's output in an error. */
  errorCharacters: 2_000,
  /** Templates of all namespaces whose memory is held; the least recently used one goes first. */
  seeds: 4,
  /** Templates of all namespaces that have a warm pool, and how long each keeps it after its last use. */
  pools: 2,
  poolIdleMs: 900_000,
  /** Divisor of free memory: a sandbox that needs a larger part is not started for a pool. */
  poolShare: 4,
  /** Maximum size of the record of one saved memory. */
  seedBytes: 4 * MiB,
} as const;
