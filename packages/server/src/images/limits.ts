/** Limits on images and their builds. */
const MiB = 1024 ** 2;
const GiB = 1024 * MiB;

/** Limits on what a root image takes from the host's /etc. */
export const imageLimits = {
  etcFiles: 4096,
  etcFileBytes: 4 * MiB,
} as const;

export const buildLimits = {
  /** Records, those of failures included. */
  images: 200,
  /** Records of failed builds that are kept. */
  failed: 20,
  /** Builds at the same time; each takes a place in the queue too. */
  atOnce: 2,
  specBytes: 64 * 1024,
  specYaml: { tokens: 32_768, depth: 8 },
  nameCharacters: 200,
  aliases: 16,
  descriptionCharacters: 500,
  /** Packages of each package manager. */
  packages: 200,
  packageCharacters: 200,
  files: 100,
  runs: 50,
  runCharacters: 4_096,
  env: 100,
  envCharacters: 4_096,
  /** Images in the catalogue that comes with the program. */
  catalogue: 50,
  /** How soon what a dead build left is tried again, while a builder that is to be removed first still holds it. */
  sweepEveryMs: 5_000,
  logBytes: 4 * MiB,
  /** Maximum length of a build's error, which quotes the end of the log. */
  errorCharacters: 2_000,
  /** Times that a build may take as a whole, and one of its steps. */
  buildMs: 3_600_000,
  stepMs: 1_800_000,
  memoryBytes: 2 * GiB,
  storageBytes: 10 * GiB,
  processes: 256,
  cpus: 2,
  /** Bounds of what is read of this machine's apt configuration. */
  aptSources: 64,
  aptKeys: 64,
  aptFileBytes: 256 * 1024,
} as const;

/** Limits of an image that is built because a sandbox asks for it. */
export const firstUseLimits = {
  /** Less than most clients and proxies wait for an answer. */
  waitMs: 50_000,
  /** Longest wait of a caller that receives progress. */
  watchedMs: 900_000,
  retryMs: 10_000,
  /** Wait before an image whose build failed is built again. */
  restMs: 300_000,
  /** Images at most, ready or being made, that one namespace has had made since the daemon started. */
  imagesOfNamespace: 50,
  /** Records of `buildLimits.images` that are reserved for administrators. */
  keptForAdministrators: 50,
  /** Images whose failure is known. */
  remembered: 256,
} as const;
