/** A name in a folder's tree, as snapshots and skills keep it. Names are bytes, one to a character (latin1). */
export interface TreeEntry {
  /** `unreadable`: it was there, and the sandbox's user could not read it. */
  type: "file" | "directory" | "link" | "hard-link" | "unreadable";
  /** Relative to the folder. */
  path: string;
  mode: number;
  mtimeNs: bigint;
  /** Size of a file. */
  size: number;
  /** SHA-256 of a file's bytes. */
  sha256: string;
  /** A file's bytes in the blob store, in order. */
  chunks: readonly string[];
  /** Target of a symbolic link, unchecked; of a hard link, the first path of the same file. */
  target: string;
}

/** Folders come right before what is in them: `/` is less than any other byte. */
export function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return (x === 0x2f ? 0 : x) - (y === 0x2f ? 0 : y);
  }
  return a.length - b.length;
}

/** As people see it: what is not UTF-8 appears as U+FFFD. */
export function shownPath(path: string): string {
  return Buffer.from(path, "latin1").toString("utf8");
}
