const KiB = 1024;

/** The command line. */
export const cliLimits = {
  /** Time that a program gets to end by itself after Ctrl-C. */
  graceMs: 2_000,
  /** Names in the list of files that were not copied. */
  namesTold: 1_000,
  /** Bytes of a script that are checked for being text. */
  textProbeBytes: 8 * KiB,
} as const;
