const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

/** Tar archives in and out of a workspace. */
export const archiveLimits = {
  entries: { default: 100_000, min: 1, max: 1_000_000 },
  bytes: { default: 8 * GiB, min: 1, max: 100 * GiB },
  /** The guest's walks end at 128. */
  depth: { default: 64, min: 1, max: 100 },
  /** Real data compresses below 20; gzip's own limit is 1032. */
  ratio: { default: 100, min: 1, max: 1_032 },
  /** Unpacked bytes before the ratio counts: a small file of zeros is no bomb. */
  ratioFreeBytes: 16 * MiB,
  /** Maximum size of a packed folder: sparse files make sizes free. */
  packBytes: 100 * GiB,
  refusalBytes: 512,
  gzipLevel: 6,
  /** Maximum window of a zstd stream, as a power of two: decompression holds that many bytes in memory. */
  zstdWindowBits: 27,
  /** Frames of zstd in one archive: a layer that is cut into chunks has one for each. */
  zstdFrames: 500_000,
} as const;
