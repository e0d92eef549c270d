const KiB = 1024;
const MiB = 1024 * KiB;

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
  /** Window of a connection in each direction, while few connections have much under way. */
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
  /** Bytes under way on all tunnels of a sandbox, beyond a small ring each: to the owner, and to the guest. */
  tunnelsBytes: 4 * MiB,
  tunnelsInputBytes: 8 * MiB,
  /** Part of the rest of `tunnelsInputBytes` that one more tunnel may take. */
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
  /** Time limit of a guest's health check; a busy host can stall a guest for seconds. */
  healthTimeoutMs: 5_000,
  /** A guest that does not take the news of a pause in this time is paused without. */
  pauseTimeoutMs: 2_000,
} as const;
