/** An answer that was given once, to be given again to the same request. It holds no secret. */
export interface IdempotencyRecord {
  /** A hash of who asked, for what, under which key. */
  name: string;
  requestHash: string;
  status: number;
  /** JSON. */
  body: string;
}

/** Kept for a day; older ones count as absent. */
export interface IdempotencyRecords {
  get(name: string): Promise<IdempotencyRecord | undefined>;
  /** The first one of a name stays. Resolves when it would survive a kill -9. */
  put(record: IdempotencyRecord): Promise<void>;
}
