const KiB = 1024;

/** Bounds of a daemon's sandboxes, beyond their resources and lifetimes. */
export const fleetLimits = {
  sandboxes: 1_024,
  sandboxesPerNamespace: 256,
  /** Those of hosted servers, apart from the others. */
  serverSandboxes: 10_000,
  sessionKeyChars: 256,
  descriptionChars: 256,
  labels: 64,
  /** Names and values of all labels together; of all variables together, since each run's spec holds them. */
  labelBytes: 16 * KiB,
  envBytes: 64 * KiB,
  /** Intervals at which timers are checked, and times of last use stored. */
  tickMs: 1_000,
  saveUsesMs: 10_000,
  /** Idle and old ones that are stopped or destroyed at once. */
  expiringAtOnce: 4,
  recoveringAtOnce: 16,
  /** How long a failed removal waits before it is tried again. */
  removeAgainMs: 30_000,
  drainRetryMs: 5_000,
} as const;

/** Runs and cold starts of a daemon that wait for their turn. */
export const queueLimits = {
  concurrent: { default: 32, min: 1, max: 1_024 },
  waiting: 1_024,
  waitingPerNamespace: 256,
  /** Running jobs that a namespace may have per free place, when there are several namespaces. */
  shareOfFree: 3,
  priority: { default: 0, min: -100, max: 100 },
  /** Bounds of the retry delay in the error of a full queue. */
  retryMinMs: 1_000,
  retryMaxMs: 60_000,
} as const;

/** Limits of the command policy: if it has rules, a longer command is refused. */
export const policyLimits = {
  commandChars: 64 * KiB,
} as const;

/** Sandboxes that are started before anybody asks. */
export const poolLimits = {
  size: { default: 2, min: 0, max: 256 },
  pools: 8,
  /** A member that said this long ago that it is well is handed over without being asked again: they are asked every 2 s. */
  answeredMs: 2_500,
  /** A member that does not answer in this time is thrown away. Long, because a busy host can stall one for seconds. */
  healthMs: 5_000,
  /** A hand-over is followed by the next start once nobody has asked for anything for so long, or after so long. */
  quietMs: 20,
  fillLatestMs: 500,
  /** The same for a server with a single client, which waits for its first result. */
  quietAloneMs: 1_000,
  /** Wait after a failed start; it doubles each time. */
  backoffMs: 1_000,
  backoffMostMs: 60_000,
} as const;
