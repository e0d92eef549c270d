/** When V8 compiles what the daemon runs. */
export const compileLimits = {
  /** After so many runs of a function; V8's own are 400, 3,000 and 500. */
  maglevRuns: 8,
  turbofanRuns: 20,
  unchangedRuns: 5,
  /** Nothing for so long once so many are served at once, and not again for so long. */
  atOnce: 4,
  pauseMs: 400,
  betweenMs: 2_000,
} as const;
