const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

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
  /** Maximum files and time of one copy into an output folder. The workspace's storage limit bounds its bytes. */
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
  /** Maximum size of one message to the engine, and of one from it: a scan reports up to `changeLimits.reported` files. */
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

/** Following a workspace's files. */
export const watchLimits = {
  perSandbox: 4,
  /** Watches of one engine: each is one of the 256 jobs of its helper. */
  inAll: 128,
  /** Bounds of one scan. Past either, the only event is that files may have changed. */
  files: 50_000,
  pathBytes: 8 * MiB,
  depth: 256,
  /** Events reported for one scan. */
  events: 5_000,
  /** How long what happens is gathered, so that a file's many writes are one event. */
  settleMs: 20,
  /** Time between scans: without notifications by the kernel, and with them, since it reports no writes to mapped files. */
  intervalMs: 250,
  idleMs: 2_000,
} as const;
