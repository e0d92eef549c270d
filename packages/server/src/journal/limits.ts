/** Events of a Caisson. */
export const eventLimits = {
  listeners: 256,
  /** Events that wait for a slow reader of a stream; the oldest give way to a lag marker. */
  queued: 1024,
} as const;

/** Events of a daemon: one ring for all readers, and the store for those who come back. */
export const journalLimits = {
  recent: 8_192,
  readers: 12_000,
  /** Readers that catch up from the store at once, and the rows that each of them holds. */
  catchingUp: 64,
  page: 50,
  /** Pages of rows, the newest first, in which the last events of a namespace are looked for. */
  newestPages: 3,
  retryMs: 5_000,
} as const;
