import type { PackSummary, StreamWithSummary } from "../core/archive.ts";
import { AppError } from "../core/errors.ts";
import type { SandboxFiles } from "../core/file.ts";
import { comparePaths, type TreeEntry } from "../core/tree.ts";
import { type TarEntry, TarReader } from "../tar/tar-reader.ts";
import { type Chunk, Chunker } from "./chunker.ts";
import { snapshotLimits } from "./snapshot-limits.ts";

export interface ScannedWorkspace {
  /** In the order of their paths. */
  entries: TreeEntry[];
  totalBytes: number;
  summary: PackSummary;
}

/** Of names, and of the bytes of files. */
type ScanLimits = Readonly<Record<"entries" | "bytes", number>>;

/** Called with every chunk of every file. */
export type TakeChunk = (chunk: Chunk) => Promise<void> | undefined;

/** Reads a workspace, or a folder of it, as a worker with the user's rights packs it: no path of user code is opened on the
 *  host (hazard 1). */
export function scanWorkspace(files: SandboxFiles, take: TakeChunk, folder = ""): Promise<ScannedWorkspace> {
  return scanPacked(files.pack(folder, { exact: true }), take);
}

/** What comes out of a sandbox is hostile, whoever packed it: it is checked as it comes. */
export async function scanPacked(
  packed: StreamWithSummary<Buffer, PackSummary>,
  take: TakeChunk,
  limits: ScanLimits = snapshotLimits,
): Promise<ScannedWorkspace> {
  const reader = new TarReader(packed, { depth: snapshotLimits.depth, exact: true });
  const entries: TreeEntry[] = [];
  let read = 0;
  let totalBytes = 0;
  try {
    for (let found = await reader.next(); found !== undefined; found = await reader.next()) {
      read++;
      totalBytes += found.size;
      checkSize(entries.length, totalBytes, limits);
      const body = await readBody(reader, found, take);
      const entry = { ...treeEntry(found), ...body };
      if (found.type === "unreadable" && entries.at(-1)?.path === found.path) entries.pop(); // a folder that could not be entered
      checkOrder(entries.at(-1), entry);
      entries.push(entry);
    }
  } finally {
    await reader.close();
  }
  if (packed.summary?.entries !== read) throw nonsense(); // not all that was packed
  return { entries: withLeaders(entries), totalBytes, summary: packed.summary };
}

function nonsense(): AppError {
  return new AppError("unavailable", "invalid file list from the sandbox");
}

function checkSize(entries: number, bytes: number, limits: ScanLimits): void {
  if (entries >= limits.entries)
    throw new AppError("limit_exceeded", `the workspace contains more than ${limits.entries} files and folders`);
  if (bytes > limits.bytes)
    throw new AppError("limit_exceeded", `the workspace contains more than ${limits.bytes} bytes`);
}

/** Strictly, so that no name is there twice; and a name stands in a folder. */
function checkOrder(before: TreeEntry | undefined, entry: TreeEntry): void {
  if (before !== undefined && comparePaths(before.path, entry.path) >= 0) throw nonsense();
}

function treeEntry({ type, path, mode, mtimeNs, size, target }: TarEntry): TreeEntry {
  return { type, path, mode, mtimeNs, size, target, sha256: "", chunks: [] };
}

/** Cuts a file into chunks and hands them on. */
export async function readBody(
  reader: TarReader,
  found: TarEntry,
  take: TakeChunk,
): Promise<Pick<TreeEntry, "chunks" | "sha256">> {
  if (found.type !== "file") return { chunks: [], sha256: "" };
  const chunker = new Chunker(found.size);
  const chunks: string[] = [];
  const add = async (chunk: Chunk) => {
    chunks.push(chunk.digest);
    await take(chunk);
  };
  for (let piece = await reader.read(); piece !== undefined; piece = await reader.read())
    for (const chunk of chunker.push(piece)) await add(chunk);
  const last = chunker.finish();
  if (last !== undefined) await add(last);
  return { chunks, sha256: chunker.sha256 };
}

/** A hard link names an earlier file, or the archive cannot be. */
function withLeaders(entries: TreeEntry[]): TreeEntry[] {
  const links = entries.filter(({ type }) => type === "hard-link");
  if (links.length === 0) return entries;
  const wanted = new Set(links.map(({ target }) => target));
  const leaders = new Set(
    entries.filter(({ type, path }) => type === "file" && wanted.has(path)).map(({ path }) => path),
  );
  for (const { path, target } of links) if (!leaders.has(target) || comparePaths(target, path) >= 0) throw nonsense();
  return entries;
}
