/** Limits on builds of hosted servers. */
const MiB = 1024 ** 2;
const GiB = 1024 * MiB;

export const serverBuildLimits = {
  /** Time of a whole build, and of one of its steps. */
  buildMs: 1_200_000,
  stepMs: 900_000,
  memoryBytes: 2 * GiB,
  /** Disk of a build: the unpacked source, its dependencies, and what installing them needs for a while. */
  storageBytes: 10 * GiB,
  /** Size of package.json and of what a step reports. */
  manifestBytes: MiB,
  /** Output of a build; what follows is left out. */
  logBytes: 4 * MiB,
  /** Packages that a version lists. */
  packages: 2_000,
  /** Maximum length of a build's error, which quotes the end of its output. */
  errorCharacters: 2_000,
  /** Age of a build that the same inputs use again: its dependencies may have newer releases. */
  maxAgeMs: 7 * 86_400_000,
} as const;
