/** Every number that bounds Caisson. Units stand last in the name. */

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

export interface Range {
  readonly default: number;
  readonly min: number;
  readonly max: number;
}

/** Ranges of the limits that a caller may request. A request outside its range is refused, and the error names the limit. */
export const requestLimits = {
  memoryBytes: { default: 512 * MiB, min: 64 * MiB, max: 8 * GiB },
  cpuShares: { default: 1024, min: 512, max: 4096 },
  cpus: { default: 1, min: 0.1, max: 64 },
  cpuTimeMs: { default: 60_000, min: 1_000, max: 3_600_000 },
  timeoutMs: { default: 60_000, min: 100, max: 3_600_000 },
  /** Lifetime of a background process, and its CPU time. */
  processTimeMs: { default: 3_600_000, min: 100, max: 86_400_000 },
  processCpuTimeMs: { default: 3_600_000, min: 1_000, max: 3_600_000 },
  processes: { default: 64, min: 1, max: 512 },
  outputBytes: { default: 1_000_000, min: 1_000, max: 256 * MiB },
  storageBytes: { default: 5 * GiB, min: 16 * MiB, max: 100 * GiB },
} as const satisfies Record<string, Range>;

/** Limits of every sandbox, which no caller can choose. */
export const sandboxLimits = {
  uidsPerSandbox: 65_536,
  /** Subordinate ids that one sandbox takes of an ordinary user; also in native/helper/helper.h. */
  idsPerSlice: 264,
  tmpBytes: 256 * MiB,
  shmBytes: 64 * MiB,
  runBytes: 4 * MiB,
  openFiles: 4096,
  terminals: 64,
  /** Host threads and processes past `processes`: guest, newborns, workers; under gVisor the sentry's threads too. */
  pidsHeadroom: { container: 64, gvisor: 4096 },
  /** Memory of the guest (container), or of sentry and gofer and the slack in which the guest still acts (gvisor). */
  memoryHeadroomBytes: { container: 4 * MiB, gvisor: 192 * MiB },
  /** Below it no interpreter waits: what it holds would be missing to runs, where the guest counts all memory as theirs. */
  warmMemoryBytes: { container: 0, gvisor: 256 * MiB },
  argumentBytes: 100 * KiB,
  codeBytes: 4 * MiB,
  pathBytes: 4096,
  listBytes: 64 * MiB,
  /** Limits of one run. */
  arguments: 16_384,
  /** Linux's own limits: size of one argument or variable with its NUL, and of all of a run, with a pointer for each. */
  wordBytes: 128 * KiB,
  wordsBytes: 2 * MiB,
  /** Variables in one environment that a caller sends. A run's environment comes on top of its sandbox's. */
  variables: 1_000,
} as const;

/** A terminal's size, in characters. */
export const terminalLimits = {
  rows: { default: 24, min: 1, max: 1_000 },
  columns: { default: 80, min: 1, max: 1_000 },
} as const satisfies Record<string, Range>;

/** Code contexts. The host enforces these bounds on everything that a kernel sends. */
export const contextLimits = {
  contexts: 16,
  queuedRuns: 64,
  startTimeoutMs: 60_000,
  /** Time that code gets to end after it was interrupted for its time limit. */
  graceMs: 2_000,
  /** An interrupt that was not heard is sent again this often. */
  interruptAgainMs: 500,
  stdinBytes: 1 * MiB,
  /** Output that comes while nothing runs, kept for the next run. */
  idleOutputBytes: 64 * KiB,
  /** A frame, with its mark, is one write that no other writer can cut in two. */
  frameBytes: 4096,
  messageBytes: 8 * MiB,
  results: 64,
  textChars: 1_000_000,
  /** Maximum length of each of JSON, HTML, PNG (in base64) and SVG. */
  richChars: 5_000_000,
  /** Maximum length of all results of one run together. */
  resultChars: 32_000_000,
  jsonDepth: 64,
  traceChars: 64 * KiB,
} as const;

/** Scanning for changed files. */
export const changeLimits = {
  files: 200_000,
  /** Total size of all paths: hard links make names that cost a sandbox nothing. */
  pathBytes: 32 * MiB,
  reported: 10_000,
  depth: 256,
  /** Bytes hashed in one scan; a file past it is listed without a hash. Sparse files make sizes free. */
  hashBytes: 4 * GiB,
  timeoutMs: 60_000,
  /** How much longer its answer is waited for. */
  graceMs: 5_000,
} as const;

/** Records of runs: ranges of settings, and bounds of each record, of a library's folder, and of a daemon's store. */
export const recordLimits = {
  keep: { default: 1_000, min: 2, max: 100_000 },
  days: { default: 30, min: 1, max: 3_650 },
  outputBytes: { default: 16 * KiB, min: 0, max: 256 * KiB },
  commandBytes: 8 * KiB,
  filesChanged: 200,
  /** Maximum size of one record as JSON; past it the record is kept without its output and its files. */
  recordBytes: 1 * MiB,
  /** Maximum size of the records of one sandbox; past it the newest of half as many bytes stay. */
  sandboxBytes: 16 * MiB,
  /** Number and total size of the records of one namespace of a daemon. */
  namespaceRecords: 100_000,
  namespaceBytes: 256 * MiB,
  /** Records that a namespace adds before its bounds are checked again. */
  addedRecords: 64,
  addedBytes: 4 * MiB,
  /** Records that one step of a removal looks at. */
  removedAtOnce: 1_000,
  /** Sandboxes with records in a library's folder, and total size of their records. */
  sandboxes: 1_000,
  totalBytes: 256 * MiB,
  pruneIntervalMs: 3_600_000,
  /** Files that are opened from one look at all of them to the next. */
  pruneEvery: 32,
  /** Runs that are listed when no sandbox is named, and what a line shows of a command. */
  recent: 20,
  shownCharacters: 80,
  /** Records on their way to the disk, and their text, before a run waits for them; how long one waits for others to go with it. */
  pending: 512,
  pendingCharacters: 4 * MiB,
  gatherMs: 500,
} as const;
