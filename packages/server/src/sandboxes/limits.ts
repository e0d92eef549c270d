const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

/** Searching a workspace. */
export const searchLimits = {
  matches: { default: 1_000, min: 1, max: 100_000 },
  /** Read in one search; sparse files make sizes free. */
  bytes: 4 * GiB,
  /** The same where the host looks through them, since values must not be found. */
  maskedBytes: 256 * MiB,
  /** A larger file is left out. */
  fileBytes: 256 * MiB,
  /** Size of the pieces in which a file is sent. */
  pieceBytes: 256 * KiB,
  contextBytes: 64,
  textBytes: 1_024,
  lineBytes: 512,
  cpuMs: 60_000,
} as const;

/** Background processes of a sandbox. */
export const processLimits = {
  /** Running and ended ones together; the oldest ended ones make room. */
  processes: 64,
  /** Log size of each of stdout and stderr of one process, on the host's disk; each file holds one segment. */
  logBytes: 4 * MiB,
  segmentBytes: 1 * MiB,
  /** Maximum bytes that one read returns. */
  readBytes: 256 * KiB,
  /** Arguments and environment are bounded by a spec; JSON may write a byte as six. */
  recordBytes: 8 * MiB,
} as const;

/** The host's own look at the CPU seconds of a run. */
export const runLimits = {
  cpuLookMs: 1_000,
  /** CPU time of the sandbox that ends a run: a multiple of the run's limit, plus a constant for the boundary's own work. */
  cpuSlack: 1.5,
  cpuSlackMs: 2_000,
} as const;

/** Files that a run leaves in its output folder, and their manifest. */
export const artifactLimits = {
  files: 10_000,
  /** Maximum size of an artifact that is read whole. */
  contentBytes: 64 * MiB,
  keyBytes: 4 * KiB,
} as const;
