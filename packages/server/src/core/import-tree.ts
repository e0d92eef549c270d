/** How an image comes to be of a tree that comes from elsewhere. */
import type { ImageRecord } from "./image-record.ts";
import type { Caller } from "./principal.ts";

export interface ImportProgress {
  log: { write(text: string): Promise<void> };
  signal: AbortSignal;
  /** Begins a step, one of those in `steps`. */
  begin(step: string): Promise<void>;
}

/** A tree that comes as a tar archive without whiteouts and devices, whose hard links name entries before them. */
export interface TreeImport extends Pick<ImageRecord, "name" | "digest" | "description" | "config"> {
  /** Its name is what it calls itself: nobody here has chosen it, and it takes none that somebody has. */
  namesItself?: boolean;
  /** Called when its turn has come. */
  open: (progress: ImportProgress) => AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>;
  /** Steps before the tree is unpacked, in order. */
  steps?: readonly string[];
}

export interface Imported {
  record: ImageRecord;
  /** False when it was there, or is under way, already. */
  isNew: boolean;
}

export interface TreeImporter {
  importTree(caller: Caller, tree: TreeImport): Promise<Imported>;
  /** When nothing of that import is under way any more, however it ended. */
  settled(id: string): Promise<void>;
}
