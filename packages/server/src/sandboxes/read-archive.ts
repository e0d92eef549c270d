import { comparePaths, type TreeEntry } from "../core/tree.ts";
import { quoted, refuseArchive } from "../tar/archive-refusal.ts";
import { type TarEntry, TarReader } from "../tar/tar-reader.ts";
import { readBody, type TakeChunk } from "./scan-workspace.ts";

export interface ArchiveRules {
  entries: number;
  bytes: number;
  depth: number;
}

/** A stranger's tar archive as a tree, refused for what unpacking it in a sandbox would refuse (FIL-04). Hard links become files. */
export async function readArchive(
  source: AsyncIterable<Uint8Array>,
  rules: ArchiveRules,
  take: TakeChunk,
): Promise<TreeEntry[]> {
  const reader = new TarReader(source, { depth: rules.depth });
  const tree = new Map<string, TreeEntry>();
  let entries = 0;
  let bytes = 0;
  try {
    for (let found = await reader.next(); found !== undefined; found = await reader.next()) {
      bytes += found.size;
      if (++entries > rules.entries) throw refuseArchive(`it has more than ${rules.entries} entries`);
      if (bytes > rules.bytes) throw refuseArchive(`it unpacks to more than ${rules.bytes} bytes`);
      if (found.depth === 0) continue;
      makeParents(tree, found, rules);
      checkFree(tree, found);
      const body = found.type === "hard-link" ? linked(tree, found) : await readBody(reader, found, take);
      tree.set(found.path, { ...plain(found), ...body });
    }
  } finally {
    await reader.close();
  }
  return [...tree.values()].sort((a, b) => comparePaths(a.path, b.path));
}

function plain({ type, path, mode, mtimeNs, size, target }: TarEntry): TreeEntry {
  return { type, path, mode, mtimeNs, size, target, sha256: "", chunks: [] };
}

/** Folders that the archive takes for granted. They count: a name can hold many. */
function makeParents(tree: Map<string, TreeEntry>, { path, mtimeNs }: TarEntry, rules: ArchiveRules): void {
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
    const folder = path.slice(0, at);
    const there = tree.get(folder);
    if (there === undefined)
      tree.set(folder, {
        type: "directory",
        path: folder,
        mode: 0o755,
        mtimeNs,
        size: 0,
        target: "",
        sha256: "",
        chunks: [],
      });
    else if (there.type !== "directory") throw refuseArchive(`${quoted(path)} goes through a link or a file`);
    if (tree.size > rules.entries) throw refuseArchive(`it has more than ${rules.entries} entries`);
  }
}

function checkFree(tree: Map<string, TreeEntry>, { path, type }: TarEntry): void {
  const there = tree.get(path);
  if (there !== undefined && (there.type !== "directory" || type !== "directory"))
    throw refuseArchive(`${quoted(path)} is in it twice`);
}

function linked(tree: Map<string, TreeEntry>, { path, target }: TarEntry): Partial<TreeEntry> {
  const file = tree.get(target);
  if (file?.type !== "file")
    throw refuseArchive(`${quoted(path)} is a link to ${quoted(target)}, which is no earlier file`);
  const { type, mode, mtimeNs, size, sha256, chunks } = file;
  return { type, mode, mtimeNs, size, sha256, chunks, target: "" };
}
