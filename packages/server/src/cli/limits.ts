const KiB = 1024;

/** The command line. */
export const cliLimits = {
  /** Time that a program gets to end by itself after Ctrl-C. */
  graceMs: 2_000,
  /** Names that were not copied, and are told of. */
  namesTold: 1_000,
  /** What of a script is looked at to tell whether it is text. */
  textProbeBytes: 8 * KiB,
} as const;
