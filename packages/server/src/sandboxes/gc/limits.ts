/** Numbers that bound what a data folder keeps, and when it is cleared of what nothing uses. */

const GiB = 1024 ** 3;

export const gcLimits = {
  /** Of the disk that holds the data folder; at 100 nothing is collected before somebody asks. */
  watermarkPercent: { default: 85, min: 50, max: 100 },
  /** So far below the watermark is what can be fetched again removed, oldest first. */
  reliefPercent: 5,
  watchEveryMs: 60_000,
  /** After a collection that did not bring the disk below the watermark. */
  retryMs: 600_000,
  /** How often the kinds are measured against their budgets. */
  budgetEveryMs: 3_600_000,
  /** Of a kind, what is in use included: past it a collection begins. The cache of downloads has its own setting. */
  budgetBytes: { blobs: 200 * GiB, images: 200 * GiB, checkpoints: 200 * GiB, layers: 200 * GiB },
  /** Of each kind, that a report names. */
  things: 100,
  /** A layer so young may belong to an image or a copy that has no record yet. */
  layerGraceMs: 3_600_000,
} as const;
