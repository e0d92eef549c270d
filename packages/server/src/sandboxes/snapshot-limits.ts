/** Numbers that bound snapshots, skills and what they are stored in. Units stand last in the name. */

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

/** Limits of a tar archive: an extended header, and zeros after its end; also in native/guest/tar.h. */
export const tarLimits = { extraBytes: 64 * KiB, tailBlocks: 8192 } as const;

/** The blob store. */
export const blobLimits = {
  /** Maximum size of one blob; the manifest of one file of many chunks is the largest. */
  bytes: 8 * MiB,
  /** Compression level of zstd: low, since most bytes are written once and rarely read. */
  level: 1,
  /** A compressed blob is kept only below this part of its size. */
  worthwhile: 0.95,
  /** Bytes and writes on their way to the disk before whoever brings more waits. */
  pendingBytes: 16 * MiB,
  pendingWrites: 16,
  /** Reads on their way while one is used. */
  readAhead: 8,
  /** How much is written between looks at the room on the disk. */
  checkBytes: 64 * MiB,
  /** Files that are synced together. */
  batch: 256,
} as const;

/** Snapshots of workspaces. */
export const snapshotLimits = {
  /** Names in a workspace, and the bytes of its files. */
  entries: 200_000,
  bytes: 16 * GiB,
  perSandbox: 100,
  perNamespace: 1_000,
  /** Total size that all of them added; one that is under way may exceed it by its own size. */
  namespaceBytes: 100 * GiB,
  descriptionCharacters: 1_000,
  /** Entries of one difference that are told by name. */
  reported: 10_000,
  /** A file up to this size is one chunk. */
  wholeBytes: 1 * MiB,
  /** Size of the chunks of a larger file; two to the power of `averageBits` on average. */
  chunkLeastBytes: 128 * KiB,
  chunkMostBytes: 2 * MiB,
  averageBits: 19,
  /** A part of a manifest ends at a name that is chosen by its bytes, so that parts without a change stay the same. */
  partEntriesLeast: 128,
  partEntriesBits: 9,
  partEntriesMost: 4096,
  partBytes: 1 * MiB,
  /** The guest's walks end at 128. */
  depth: 200,
  /** Being taken, compared or restored at once; more wait. */
  atOnce: 4,
} as const;

/** Artifacts of destroyed sandboxes. */
export const keptArtifactLimits = {
  keepMs: { default: 0, min: 0, max: 2_592_000_000 },
  /** Sandboxes, and the bytes of their artifacts together. */
  perNamespace: 1_000,
  namespaceBytes: 100 * GiB,
  files: 10_000,
  chunkBytes: 1 * MiB,
  /** A sandbox whose artifacts take longer to read ends without them. */
  timeoutMs: 120_000,
  expireEveryMs: 60_000,
} as const;

/** Skills. */
export const skillLimits = {
  perNamespace: 1_000,
  entries: 10_000,
  bytes: 256 * MiB,
  depth: 32,
  /** Maximum size of an upload, compressed or not. */
  uploadBytes: 64 * MiB,
  nameCharacters: 64,
  versionCharacters: 64,
  /** Characters of the digest that stands for the version of an unversioned skill. */
  digestCharacters: 12,
  descriptionCharacters: 1_024,
  frontMatterCharacters: 16 * KiB,
  frontMatter: { tokens: 4_000, depth: 8 },
  /** Maximum size of SKILL.md. */
  textBytes: 1 * MiB,
  /** Installed by one call. */
  installed: 64,
  /** Skills that the index of a sandbox tells of, and its bytes, which code in the sandbox may have written. */
  indexed: 256,
  indexBytes: 1 * MiB,
} as const;
