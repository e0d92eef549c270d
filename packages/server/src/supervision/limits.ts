import type { Range } from "../core/limits.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

/** The daemon's process, the engine's, and who keeps both alive. */
export const supervisionLimits = {
  port: { default: 7420, min: 1, max: 65_535 },
  socketPathBytes: 107,
  /** Maximum size of one message from a process to its supervisor. */
  messageBytes: 64 * KiB,
  /** Maximum size of the configuration that a process receives when it starts. */
  configurationBytes: MiB,
  /** How soon one that ended is started again; doubled each time, up to the most, until one lasts. */
  restartMs: 100,
  restartMostMs: 5_000,
  steadyMs: 30_000,
  /** Time for work under way to end, for a process to exit by itself, and until its supervisor kills it. */
  drainMs: 10_000,
  drainTimeoutMs: 20_000,
  stopTimeoutMs: 25_000,
  /** Maximum size of the log, and of the previous one. */
  logBytes: 8 * MiB,
  /** Maximum size of a certificate with its chain, and of its key. */
  pemBytes: 128 * KiB,
  /** How often new versions of them are looked for. */
  certificateEveryMs: 2_000,
  /** How long before it expires a certificate is warned about. */
  certificateWarningMs: 14 * 86_400_000,
  /** The daemon's user where the machine lets none be made: just below those of sandboxes. */
  unnamedUid: 1_879_048_191,
} as const satisfies Record<string, number | Range>;
