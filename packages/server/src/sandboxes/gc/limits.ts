/** Numbers that bound what a data folder keeps, and when it is cleared of what nothing uses. */

const GiB = 1024 ** 3;

export const gcLimits = {
  /** Disk usage that triggers garbage collection; at 100 it runs only on request. */
  watermarkPercent: { default: 85, min: 50, max: 100 },
  /** So far below the watermark is what can be fetched again removed, oldest first. */
  reliefPercent: 5,
  watchEveryMs: 60_000,
  /** Wait after a collection that did not bring the disk below the watermark. */
  retryMs: 600_000,
  /** How often the kinds are measured against their budgets. */
  budgetEveryMs: 3_600_000,
  /** Size of a kind, items in use included, that triggers a collection. The cache of downloads has its own setting. */
  budgetBytes: { blobs: 200 * GiB, images: 200 * GiB, checkpoints: 200 * GiB, layers: 200 * GiB },
  /** Items of each kind that a report names. */
  things: 100,
  /** A layer so young may belong to an image or a copy that has no record yet. */
  layerGraceMs: 3_600_000,
} as const;
