import type { Range } from "../core/limits.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

/** The daemon's process, the engine's, and who keeps both alive. */
export const serviceLimits = {
  port: { default: 7420, min: 1, max: 65_535 },
  socketPathBytes: 107,
  /** Of one message of a process to its supervisor. */
  messageBytes: 64 * KiB,
  /** Of what a process is told when it starts. */
  configurationBytes: MiB,
  /** How soon one that ended is started again; doubled each time, up to the most, until one lasts. */
  restartMs: 100,
  restartMostMs: 5_000,
  steadyMs: 30_000,
  /** What is under way may take so long to end; a process that does not leave is ended. */
  drainMs: 10_000,
  drainTimeoutMs: 20_000,
  stopTimeoutMs: 25_000,
  /** Of the log, and as much of the one before it. */
  logBytes: 8 * MiB,
  /** The daemon's user where the machine lets none be made: just below those of sandboxes. */
  unnamedUid: 1_879_048_191,
} as const satisfies Record<string, number | Range>;
