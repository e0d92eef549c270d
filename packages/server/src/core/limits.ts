/** Every number that bounds Caisson. Units stand last in the name. */

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

export interface Range {
  readonly default: number;
  readonly min: number;
  readonly max: number;
}

/** What a caller may ask for; a request outside the range is refused and names the cap. */
export const requestLimits = {
  memoryBytes: { default: 512 * MiB, min: 64 * MiB, max: 8 * GiB },
  cpuShares: { default: 1024, min: 512, max: 4096 },
  cpus: { default: 1, min: 0.1, max: 64 },
  cpuTimeMs: { default: 60_000, min: 1_000, max: 3_600_000 },
  timeoutMs: { default: 60_000, min: 100, max: 3_600_000 },
  /** Of a background process: how long it lives, and what it may compute in that time. */
  processTimeMs: { default: 3_600_000, min: 100, max: 86_400_000 },
  processCpuTimeMs: { default: 3_600_000, min: 1_000, max: 3_600_000 },
  processes: { default: 64, min: 1, max: 512 },
  outputBytes: { default: 1_000_000, min: 1_000, max: 256 * MiB },
  storageBytes: { default: 5 * GiB, min: 16 * MiB, max: 100 * GiB },
} as const satisfies Record<string, Range>;

/** The wire between host and guest. */
export const wireLimits = {
  version: 7,
  headerBytes: 24,
  /** A write to a FIFO of at most PIPE_BUF bytes is whole or not at all. */
  toGuestFrameBytes: 4096,
  /** Full frames that a read of what comes for a connection fills, and that a FIFO gets at once. */
  pieceFrames: 128,
  bulkFrames: 64,
  fromGuestPayloadBytes: 1 * MiB,
  /** Bytes the guest may have under way on one channel before the host has stored them. */
  outputWindowBytes: 256 * KiB,
  inputWindowBytes: 64 * KiB,
  /** Of a connection, each way, while few have much under way. */
  tunnelWindowBytes: 2 * MiB,
  /** Bytes owed before credit is given: half of the guest's smallest ring. */
  creditBytes: 8 * KiB,
  streams: 256,
  /** Connections of one sandbox under way, those that are awaited included, and places it is reached at. */
  tunnels: 1_536,
  listeners: 512,
  /** Connections that are awaited: more when they came faster than that. */
  awaited: 4,
  awaitedMost: 64,
  /** What of the bytes of all tunnels of a sandbox may be under way, beyond a small ring each: to the owner, and to the guest. */
  tunnelsBytes: 4 * MiB,
  tunnelsInputBytes: 8 * MiB,
  /** Of what is left of the latter, how much one more may take. */
  tunnelShare: 0.5,
  smallRingBytes: 16 * KiB,
  datagramBytes: 4096 - 24 - 16,
  /** How long the guest may wait for word of few bytes that were taken. */
  creditDelayMs: 20,
  dialTimeoutMs: 10_000,
  specBytes: 2.5 * MiB,
  /** A receive buffer, and what is copied out of one rather than held in it. */
  receiveBytes: 512 * KiB,
  receiveCopyBytes: 16 * KiB,
  /** Buffers of one wire that are held; what comes beyond them is copied. */
  receiveHeld: 8,
  /** Buffers of one wire that wait to be read into again. */
  receiveSpares: 2,
  controlPayloadBytes: 256,
  /** How soon a full FIFO is tried again. */
  retryMs: 1,
  retryMostMs: 16,
  /** Control and data frames that wait for a guest which does not read. */
  queuedFrames: 8192,
  /** The same for what is to be started: the rest is for what has. */
  queuedFramesOfSpecs: 6144,
  /** Queued frames past which no more input is sent. */
  queuedDataFrames: 32,
  helloTimeoutMs: 20_000,
  pingIntervalMs: 2_000,
  /** A guest that answers no ping for this long is lost. Long, because a busy 2-core host can stall one for seconds. */
  pongTimeoutMs: 30_000,
  leaseMs: 10_000,
  /** An interpreter that waits for runs goes after this long without one. */
  warmIdleMs: 300_000,
  /** Of a question whether a guest is well; a busy host can stall one for seconds. */
  healthTimeoutMs: 5_000,
  /** A guest that does not take the news of a pause in this time is paused without. */
  pauseTimeoutMs: 2_000,
} as const;

/** What a sandbox gets that no caller chooses. */
export const sandboxLimits = {
  uidsPerSandbox: 65_536,
  /** Of an ordinary user's subordinate ids; also in native/helper/helper.h. */
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
  /** Linux's own: of one argument or variable with its NUL, and of all of a run, with a pointer for each. */
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

/** Tar archives in and out of a workspace. */
export const archiveLimits = {
  entries: { default: 100_000, min: 1, max: 1_000_000 },
  bytes: { default: 8 * GiB, min: 1, max: 100 * GiB },
  /** The guest's walks end at 128. */
  depth: { default: 64, min: 1, max: 100 },
  /** Real data compresses below 20; gzip's own limit is 1032. */
  ratio: { default: 100, min: 1, max: 1_032 },
  /** Unpacked bytes before the ratio counts: a small file of zeros is no bomb. */
  ratioFreeBytes: 16 * MiB,
  /** Of a packed folder: sparse files make sizes free. */
  packBytes: 100 * GiB,
  refusalBytes: 512,
  gzipLevel: 6,
  /** Of zstd: what one archive may make this process hold is two to the power of it. */
  zstdWindowBits: 27,
  /** Frames of zstd in one archive: a layer that is cut into chunks has one for each. */
  zstdFrames: 500_000,
} as const;

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
  /** Of each of stdout and stderr of one process, on the host's disk, in files of a segment each. */
  logBytes: 4 * MiB,
  segmentBytes: 1 * MiB,
  /** What one read gives at most. */
  readBytes: 256 * KiB,
  /** Arguments and environment are bounded by a spec; JSON may write a byte as six. */
  recordBytes: 8 * MiB,
} as const;

/** The host's own look at the CPU seconds of a run. */
export const runLimits = {
  cpuLookMs: 1_000,
  /** What the sandbox as a whole may use past a run's limit: the boundary's own work is in it. */
  cpuSlack: 1.5,
  cpuSlackMs: 2_000,
} as const;

/** Code contexts. What a kernel says is bounded by these, whatever it is told. */
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
  /** Of each of JSON, HTML, PNG (in base64) and SVG. */
  richChars: 5_000_000,
  /** Of all results of one run together. */
  resultChars: 32_000_000,
  jsonDepth: 64,
  traceChars: 64 * KiB,
} as const;

/** The command line. */
export const cliLimits = {
  /** Time that a program gets to end by itself after Ctrl-C. */
  graceMs: 2_000,
  /** Names that were not copied, and are told of. */
  namesTold: 1_000,
  /** What of a script is looked at to tell whether it is text. */
  textProbeBytes: 8 * KiB,
} as const;

/** The engine on the host. */
export const engineLimits = {
  startTimeoutMs: 30_000,
  /** How often a start is tried that failed for a reason which passes. */
  startTries: 3,
  probeTimeoutMs: 20_000,
  killTimeoutMs: 10_000,
  removeTries: 10,
  reapAgainMs: 500,
  /** How long a lock that is held is asked for again, and how often. */
  ownerWaitMs: 2_000,
  ownerRetryMs: 25,
  recordBytes: 16 * KiB,
  /** Disk that workspaces may never claim, for the host itself. */
  diskReserveBytes: 2 * GiB,
  /** Writers are frozen while less than this is free. */
  diskWatermarkBytes: 1 * GiB,
  diskCheckIntervalMs: 1_000,
  templates: 8,
  runtimeLogBytes: 64 * KiB,
  inputFiles: 100_000,
  /** Of a copy into an output folder, beside the bytes that the workspace may hold. */
  outputFiles: 10_000,
  outputTimeoutMs: 120_000,
  /** A copy stops before less than this is free where its folder lies. */
  outputReserveBytes: 256 * MiB,
  /** Host user ids of sandboxes: slots of `uidsPerSandbox`, far above those of people and of subordinate ranges. */
  uidBase: 1_879_048_192,
  uidSlots: 4096,
} as const;

/** The socket between a daemon and the engine's process. */
export const engineSocketLimits = {
  /** Of one message to the engine, and of one from it: a look tells of `changeLimits.reported` files. */
  requestBytes: 64 * KiB,
  answerBytes: 256 * MiB,
  /** Requests under way, and bytes of answers that wait for their reader, before no more is read. */
  inFlight: 512,
  queuedBytes: 1 * MiB,
  /** How long news of the disk waits for an answer. */
  diskAnswerMs: 5_000,
  /** File events in one answer. */
  events: 256,
  connectTimeoutMs: 60_000,
  /** How long a second daemon waits for the end of the first before it is refused. */
  handOverMs: 1_000,
} as const;

/** The daemon's process, the engine's, and who keeps both alive. */
export const serviceLimits = {
  port: { default: 7420, min: 1, max: 65_535 },
  socketPathBytes: 107,
  /** Of one message of a process to its supervisor. */
  messageBytes: 64 * KiB,
  /** Of what a process is told when it starts. */
  configurationBytes: MiB,
  /** How soon one that ended is started again; doubled each time, up to the most, until one lasts. */
  restartMs: 100,
  restartMostMs: 5_000,
  steadyMs: 30_000,
  /** What is under way may take so long to end; a process that does not leave is ended. */
  drainMs: 10_000,
  drainTimeoutMs: 20_000,
  stopTimeoutMs: 25_000,
  /** Of the log, and as much of the one before it. */
  logBytes: 8 * MiB,
  /** The daemon's user where the machine lets none be made: just below those of sandboxes. */
  unnamedUid: 1_879_048_191,
} as const satisfies Record<string, number | Range>;

/** Following a workspace's files. */
export const watchLimits = {
  perSandbox: 4,
  /** Of one engine: each is a job of its helper, which has 256. */
  inAll: 128,
  /** Past either, all that is told is that something may have happened. */
  files: 50_000,
  pathBytes: 8 * MiB,
  depth: 256,
  /** Told of one look. */
  events: 5_000,
  /** How long what happens is gathered, so that a file's many writes are one event. */
  settleMs: 20,
  /** Between looks where the kernel does not say when to look; and where it does, since it is silent on mapped files. */
  intervalMs: 250,
  idleMs: 2_000,
} as const;

/** Looking for changed files. */
export const changeLimits = {
  files: 200_000,
  /** Of all paths together: hard links make names that cost a sandbox nothing. */
  pathBytes: 32 * MiB,
  reported: 10_000,
  depth: 256,
  /** Bytes hashed in one look; a file past it is listed without a hash. Sparse files make sizes free. */
  hashBytes: 4 * GiB,
  timeoutMs: 60_000,
  /** How much longer its answer is waited for. */
  graceMs: 5_000,
} as const;

/** Configuration. */
export const configLimits = {
  fileBytes: 256 * KiB,
  /** A value shown in an error. */
  shownCharacters: 60,
  /** That are named for sandboxes. */
  folders: 64,
} as const;

/** Events of a Caisson. */
export const eventLimits = {
  listeners: 256,
  /** Events that wait for a slow reader of a stream; the oldest give way to a lag marker. */
  queued: 1024,
} as const;

/** Events of a daemon: one ring for all readers, and the store for those who come back. */
export const journalLimits = {
  recent: 8_192,
  readers: 12_000,
  /** Readers that catch up from the store at once, and the rows that each of them holds. */
  catchingUp: 64,
  page: 50,
  /** Pages of rows, the newest first, in which the last events of a namespace are looked for. */
  newestPages: 3,
  retryMs: 5_000,
} as const;

/** Records of runs: what a setting may ask for, and what bounds each record, the folder of a library, and the store of a daemon. */
export const recordLimits = {
  keep: { default: 1_000, min: 2, max: 100_000 },
  days: { default: 30, min: 1, max: 3_650 },
  outputBytes: { default: 16 * KiB, min: 0, max: 256 * KiB },
  commandBytes: 8 * KiB,
  filesChanged: 200,
  /** Of one record as JSON; past it the record is kept without its output and its files. */
  recordBytes: 1 * MiB,
  /** Of the records of one sandbox; past it the newest of half as many bytes stay. */
  sandboxBytes: 16 * MiB,
  /** Of a namespace of a daemon. */
  namespaceRecords: 100_000,
  namespaceBytes: 256 * MiB,
  /** What a namespace adds from one look at its bounds to the next. */
  addedRecords: 64,
  addedBytes: 4 * MiB,
  /** Records that one step of a removal looks at. */
  removedAtOnce: 1_000,
  /** Of a library's folder. */
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

/** Files that a run leaves in its output folder, and their manifest. */
export const artifactLimits = {
  files: 10_000,
  /** Of one that is read whole. */
  contentBytes: 64 * MiB,
  keyBytes: 4 * KiB,
} as const;
