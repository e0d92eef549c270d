/** Bytes by their SHA-256, stored once. */
export interface Blobs {
  /** Begins a session. Its blobs are safe from a sweep until it is disposed of; by then something must refer to them. */
  begin(): BlobSession;
  /** Whole, and checked against its digest. */
  read(digest: string): Promise<Buffer>;
  /** Removes all that `mark` does not tell of. Sessions may be under way. */
  sweep(mark: BlobMark): Promise<Swept>;
  /** Reports what a sweep would remove now, with sizes on the disk. */
  look(mark: BlobMark): Promise<Swept & { keptBytes: number }>;
}

export type BlobMark = (live: (digest: string) => void) => Promise<void>;

export interface BlobSession extends AsyncDisposable {
  /** Bytes that were not there before, as they lie on the disk. */
  readonly addedBytes: number;
  /** Resolves when there is room for more; a failure is told by a later call, or by `commit`. */
  put(digest: string, bytes: Buffer): Promise<void>;
  /** Resolves when all that was put would survive a loss of power. */
  commit(): Promise<void>;
}

export interface Swept {
  removed: number;
  kept: number;
  removedBytes: number;
}
