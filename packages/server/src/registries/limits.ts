/** Numbers that bound the import of OCI images. Units stand last in the name. */

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

export const ociLimits = {
  /** Imports at the same time. */
  atOnce: 4,
  /** Places that sandboxes of one namespace may take. */
  atOnceOfNamespace: 2,
  /** Places reserved for administrators. */
  keptForAdministrators: 1,
  /** Layers of one image that are fetched at the same time. */
  downloads: 3,
  referenceCharacters: 512,
  /** Maximum size of a manifest, an index or a configuration. */
  documentBytes: 4 * MiB,
  /** Indexes within indexes. */
  indexDepth: 3,
  /** Manifests of one index. */
  manifests: 256,
  layers: 128,
  /** Total size of one image's blobs, as downloaded and unpacked: less than a builder's storage. */
  blobBytes: 8 * GiB,
  unpackedBytes: 8 * GiB,
  /** Real layers compress below 20; a file of zeros may be part of one. */
  ratio: 200,
  /** Names in all layers together, and in the tree that they make. */
  entries: 400_000,
  /** Total size of the names and link targets of the tree. */
  textBytes: 64 * MiB,
  depth: 100,
  /** Links that one name may lead through. */
  hops: 8,
  /** Members of an archive that holds an image: blobs, and what describes them. */
  members: 1_024,
  /** Notes about what an image requires and does not get. */
  notes: 32,
  variables: 256,
  variableBytes: 32 * KiB,
  arguments: 256,
  argumentBytes: 32 * KiB,
  pathCharacters: 1_024,
  /** Left on the disk, whatever is imported: more than at which sandboxes are made to stand still. */
  reserveBytes: 2 * GiB,
  /** How much is written between looks at the room on the disk. */
  checkBytes: 64 * MiB,
} as const;

/** The way to a registry. */
export const registryLimits = {
  redirects: 5,
  /** Attempts of one request when failures may be temporary, and the waits between them. */
  tries: 4,
  waitMs: 500,
  waitMostMs: 10_000,
  /** Longest wait for an answer to begin, and between two pieces of it. */
  answerMs: 30_000,
  connectMs: 10_000,
  /** Time to resolve a reference. */
  lookMs: 60_000,
  tokenBytes: 64 * KiB,
  headBytes: 32 * KiB,
} as const;
