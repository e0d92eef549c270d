import type { Blobs } from "../core/blob.ts";
import { AppError } from "../core/errors.ts";
import type { ReadOptions } from "../core/file.ts";
import { shownPath, type TreeEntry } from "../core/tree.ts";
import { readAhead } from "./read-ahead.ts";
import { readManifest } from "./tree-manifest.ts";

export interface SnapshotFile {
  sizeBytes: number;
  bytes: AsyncIterable<Buffer>;
}

/** The entry of a file, by one of its names. What is no file has no content. */
export async function findSnapshotFile(blobs: Blobs, manifest: string, path: string): Promise<TreeEntry> {
  let wanted = path.replace(/^(\/workspace\/|\.\/)/, "");
  for (let names = 0; names < 2; names++) {
    const entry = await findEntry(blobs, manifest, wanted);
    if (entry === undefined) throw new AppError("not_found", `the snapshot has no file '${path.slice(0, 256)}'`);
    if (entry.type === "file") return entry;
    if (entry.type !== "hard-link") throw noContent(path, entry);
    wanted = shownPath(entry.target);
  }
  throw new AppError("internal", "a hard link in a snapshot points to another hard link");
}

async function findEntry(blobs: Blobs, manifest: string, path: string): Promise<TreeEntry | undefined> {
  for await (const entry of readManifest(blobs, manifest)) if (shownPath(entry.path) === path) return entry;
  return undefined;
}

function noContent(path: string, { type, target }: TreeEntry): AppError {
  const what = {
    directory: "a folder",
    link: `a link to '${shownPath(target).slice(0, 256)}'`,
    unreadable: "a file that the sandbox's user could not read",
  }[type as "directory" | "link" | "unreadable"];
  return new AppError("invalid", `'${path.slice(0, 256)}' is ${what} in this snapshot and has no content`);
}

/** The bytes of a file from offset on, all unless a length is given. */
export function readSnapshotFile(
  blobs: Blobs,
  { chunks }: TreeEntry,
  { offset = 0, length = 0 }: ReadOptions,
): AsyncIterable<Buffer> {
  return part(readAhead(blobs, chunks), offset, length === 0 ? Number.POSITIVE_INFINITY : offset + length);
}

async function* part(pieces: AsyncIterable<Buffer>, from: number, end: number): AsyncGenerator<Buffer> {
  let at = 0;
  for await (const piece of pieces) {
    const wanted = piece.subarray(Math.max(0, from - at), Math.max(0, end - at));
    at += piece.length;
    if (wanted.length > 0) yield wanted;
    if (at >= end) return;
  }
}
