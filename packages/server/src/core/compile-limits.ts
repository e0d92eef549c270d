/** When V8 compiles what the daemon runs. */
export const compileLimits = {
  /** After so many runs of a function: what the daemon asks for, and what V8 does unless told. */
  runs: { soon: { maglev: 8, turbofan: 20 }, usual: { maglev: 400, turbofan: 3_000 } },
  unchangedRuns: 5,
  /** The latter for so long once so many uses begin within so long, and not again for so long. */
  atOnce: 16,
  withinMs: 20,
  pauseMs: 400,
  betweenMs: 2_000,
} as const;
