/** Limits on the daemon's own requests to the Internet. */

/** Requests to URLs that callers name. */
export const dialLimits = {
  urlCharacters: 2_048,
} as const;

/** Webhooks. */
export const webhookLimits = {
  perNamespace: 16,
  secretBytes: 32,
  timeoutMs: 15_000,
  /** Tries under way at once. */
  concurrent: 8,
  /** Waits before the second try and those after it; when all have failed the delivery is dead. */
  waitsMs: [5_000, 30_000, 300_000, 1_800_000, 7_200_000, 28_800_000],
  /** Deliveries of one webhook that wait; past it the newest event is not sent, and `webhook.failed` says so. */
  pending: 1_000,
  /** Delivered and dead ones that are kept of each webhook, for a look or another try. */
  settled: 100,
  /** Older ones go after so many have been settled. */
  pruneEvery: 100,
  /** Events after which a webhook's position is stored that got none of them. */
  positionEvery: 256,
  /** How soon a delivery that could not be stored is tried again. */
  storeAgainMs: 1_000,
  /** The longest that nobody looks for what is due: the clock may have been set. */
  lookMs: 60_000,
} as const;
