/** Bounds of when a process is idle and returns memory to the machine. */
export const idleMemoryLimits = {
  /** How often it is looked at whether it is idle. */
  lookMs: 2_000,
  /** It is when it was busy for at most this share of that, by whether a sandbox was used meanwhile. */
  share: { used: 0.02, unused: 0.1 },
  /** So much may be garbage. */
  garbageBytes: 2 * 1024 ** 2,
} as const;
