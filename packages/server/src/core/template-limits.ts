/** What bounds templates and how they are made, like limits.ts. */
const MiB = 1024 ** 2;

export const templateLimits = {
  /** Of one namespace, those that failed included. */
  templates: 64,
  nameCharacters: 64,
  descriptionCharacters: 500,
  files: 100,
  fileBytes: 4 * MiB,
  filesBytes: 8 * MiB,
  /** Of each package manager. */
  packages: 200,
  packageCharacters: 200,
  warmUpBytes: 256 * 1024,
  /** One run of the warm-up. */
  warmUpMs: 300_000,
  /** All steps together. */
  buildMs: 3_600_000,
  /** Of what a failed step said. */
  errorCharacters: 2_000,
  /** Of which the memory is held, of all namespaces; the one that was used least lately goes first. */
  seeds: 4,
  /** Of which a sandbox waits in a pool, of all namespaces, and for how long after it was last asked for. */
  pools: 2,
  poolIdleMs: 900_000,
  /** No more of the memory that is free is given to one that nobody has asked for. */
  poolShare: 4,
  /** Of what is written down about one. */
  seedBytes: 4 * MiB,
} as const;
