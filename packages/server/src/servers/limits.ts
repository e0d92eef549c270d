/** Limits on hosted servers. */
const KiB = 1024;
const MiB = 1024 ** 2;
const GiB = 1024 * MiB;

export const serverLimits = {
  /** Servers of one namespace, and of all. */
  perNamespace: 2_000,
  servers: 10_000,
  /** Versions of one namespace that are uploaded, wait or are made at a time: each may hold an archive. */
  making: 16,
  /** Versions that are kept. */
  versions: 5,
  archiveBytes: 250 * MiB,
  /** Entries of an archive, and their size unpacked. */
  archiveEntries: 100_000,
  unpackedBytes: 4 * GiB,
  port: { default: 8_000, min: 1, max: 65_535 },
  domains: 10,
  secrets: 64,
  commandWords: 64,
  /** Size of all variables together. */
  envBytes: 64 * KiB,
  idleTimeoutMs: { default: 300_000, min: 1_000, max: 86_400_000 },
  memoryBytes: { default: 512 * MiB, min: 256 * MiB, max: 8 * GiB },
  cpuShares: { default: 1_024, min: 512, max: 4_096 },
  storageBytes: { default: 5 * GiB, min: 5 * GiB, max: 100 * GiB },
  processes: { default: 256, min: 64, max: 512 },
  /** Instances of one stdio server, and calls that wait for one. */
  instances: 8,
  waiting: 64,
  /** Stopped instances of one server whose failures are remembered. */
  failedInstances: 256,
  /** Time for a new version, or one that wakes, to answer its first message. */
  startMs: 60_000,
  /** How often a port is tried until the program listens. */
  portLookMs: 25,
  /** Time from the signal to end until the program is killed. */
  graceMs: 2_000,
  /** Starts that fail in a row before it is a crash loop, and the pauses between them. */
  crashes: 5,
  backOffMs: { first: 500, max: 30_000 },
  /** Calls under way are waited for so long before a stop ends them. */
  drainMs: 30_000,
  /** Output that is kept; how fast a program may write; its last lines in an error; what a slow follower may leave waiting. */
  logBytes: 8 * MiB,
  logBytesPerSecond: 1 * MiB,
  tailBytes: 4 * KiB,
  followBytes: 1 * MiB,
  /** Log of one build. */
  buildLogBytes: 1 * MiB,
  /** Answers to the check of a version: bytes in all, pages of its list of tools, and tools. */
  checkBytes: 32 * MiB,
  checkPages: 100,
  checkTools: 1_000,
} as const;
