/** Limits on hosted servers. */
const MiB = 1024 ** 2;
const GiB = 1024 * MiB;

export const serverLimits = {
  /** Servers of one namespace, and of all. */
  perNamespace: 2_000,
  servers: 10_000,
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
  idleTimeoutMs: { default: 300_000, min: 1_000, max: 86_400_000 },
  memoryBytes: { default: 512 * MiB, min: 256 * MiB, max: 8 * GiB },
  cpuShares: { default: 1_024, min: 512, max: 4_096 },
  storageBytes: { default: 5 * GiB, min: 5 * GiB, max: 100 * GiB },
  processes: { default: 256, min: 64, max: 512 },
  /** Instances of one stdio server, and calls that wait for one. */
  instances: 8,
  waiting: 64,
  /** Time for a new version, or one that wakes, to answer its first message. */
  startMs: 60_000,
  /** Starts that fail in a row before it is a crash loop, and the pauses between them. */
  crashes: 5,
  backOffMs: { first: 500, max: 30_000 },
  /** Calls under way are waited for so long before a stop ends them. */
  drainMs: 30_000,
  /** Output that is kept. */
  logBytes: 8 * MiB,
} as const;
