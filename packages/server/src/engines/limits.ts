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
