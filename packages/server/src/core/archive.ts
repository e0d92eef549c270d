/** Summary of packing a folder: entries in the archive, and those left out. */
export interface PackSummary {
  entries: number;
  /** Sockets, FIFOs and devices, which no archive holds. */
  skipped: number;
  /** Files and folders that the sandbox's user may not read. */
  unreadable: number;
  /** Files that became shorter while they were read; zeros stand for what was gone. */
  changed: number;
}

export interface PackOptions {
  gzip?: boolean;
  /** All of a workspace for a snapshot of it: in order, times to the nanosecond, hard links, what could not be read. */
  exact?: boolean;
}

/** Limits on unpacking; past one, the archive is refused and nothing of it stays. */
export interface UnpackLimits {
  entries?: number;
  bytes?: number;
  depth?: number;
  /** Unpacked bytes for each byte of a gzip archive. */
  ratio?: number;
}

export type Archive = Uint8Array | AsyncIterable<Uint8Array>;

export interface UnpackOptions {
  limits?: UnpackLimits;
  /** True: existing files are replaced. Otherwise the whole archive is refused when one of its files exists. */
  replace?: boolean;
}

/** Things that come one by one, and a summary once all have come. */
export interface StreamWithSummary<T, S> extends AsyncIterable<T> {
  /** Undefined until the last one was taken. */
  readonly summary: S | undefined;
}
