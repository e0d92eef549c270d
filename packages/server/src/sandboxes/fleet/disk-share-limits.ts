import type { Range } from "../../core/limits.ts";

const MiB = 1024 ** 2;

/** How a daemon's disk is divided. */
export const diskShareLimits = {
  /** Share of the disk for one namespace, in percent of all that can be promised. */
  namespacePercent: { default: 80, min: 1, max: 100 } satisfies Range,
  /** How old a count of the disk may be. */
  countedMs: 1_000,
  /** A sandbox that names no storage is promised this part of what can be promised as the daemon starts. */
  usualPart: 1 / 32,
  usualLeastBytes: 512 * MiB,
  usualStepBytes: 256 * MiB,
} as const;
