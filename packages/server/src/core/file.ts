import type { Archive, PackOptions, PackSummary, StreamWithSummary, UnpackOptions } from "./archive.ts";
import type { SearchMatch, SearchOptions, SearchSummary } from "./search.ts";
import type { FileWatch, WatchOptions } from "./watch.ts";

export type FileType = "file" | "directory" | "link" | "other";

export interface FileInfo {
  /** Relative to the folder that was listed; the last name for a single file. */
  name: string;
  type: FileType;
  size: number;
  mode: number;
  mtimeMs: number;
  target?: string;
}

export interface ReadOptions {
  offset?: number;
  length?: number;
}

/**
 * Files of a sandbox. Paths are relative to /workspace, or absolute in one of the folders that its user may write
 * (top-folders.ts); links out of that folder lead nowhere.
 */
export interface SandboxFiles {
  read(path: string, options?: ReadOptions): AsyncIterable<Buffer>;
  /** The same without a copy, for what is large: a piece is written again once `take` is done with it. */
  readEach(path: string, take: (piece: Buffer) => Promise<void> | undefined, options?: ReadOptions): Promise<void>;
  write(path: string, body: string | Uint8Array | AsyncIterable<Uint8Array>, mode?: number): Promise<void>;
  list(path: string, options?: { recursive?: boolean }): Promise<FileInfo[]>;
  stat(path: string): Promise<FileInfo>;
  mkdir(path: string): Promise<void>;
  move(from: string, to: string, options?: { replace?: boolean }): Promise<void>;
  remove(path: string, options?: { recursive?: boolean }): Promise<void>;
  /** A folder as a tar archive. Links stay links, set-uid and set-gid bits stay behind. */
  pack(path: string, options?: PackOptions): StreamWithSummary<Buffer, PackSummary>;
  /** A tar archive, plain or gzip, into a folder. Whole, or refused with nothing left. */
  unpack(path: string, archive: Archive, options?: UnpackOptions): Promise<void>;
  /** Makes the workspace what a tar archive of our own says (tar-writer.ts): removals, folders, files, links. */
  /** Refused before anything changes where fewer bytes are free than are needed. */
  restore(archive: AsyncIterable<Uint8Array>, neededBytes: number): Promise<void>;
  search(path: string, options: SearchOptions): StreamWithSummary<SearchMatch, SearchSummary>;
  /** Resolves once the watch stands: what happens from then on is told. */
  watch(path?: string, options?: WatchOptions): Promise<FileWatch>;
}
