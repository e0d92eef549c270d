import type { Readable } from "node:stream";
import type { Freed } from "./gc.ts";

/**
 * Files of registries, kept under the address they came from for the next sandbox that asks (EXE-10). What is in one was asked for by
 * the daemon in its own words and came from the registry itself: no sandbox can put anything in (S61).
 */
export interface Downloads {
  find(url: string): Promise<Download | undefined>;
  /** Takes a file of that size as it comes; undefined where it is not to be kept. */
  keep(url: string, bytes: number): Promise<DownloadDraft | undefined>;
  /** Size of all files that are kept. */
  heldBytes(): number;
  /** Forgets those that nobody asked for longest until so many bytes are free; whoever reads one reads on. */
  trim(bytes: number): Promise<Freed>;
}

export interface Download {
  bytes: number;
  /** Once. */
  read(): Readable;
}

/** Gone unless it was committed. */
export interface DownloadDraft extends AsyncDisposable {
  write(chunk: Uint8Array): Promise<void>;
  commit(): Promise<void>;
}
