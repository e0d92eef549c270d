import { AppError } from "../core/errors.ts";
import type { SandboxFiles } from "../core/file.ts";
import type { TreeEntry } from "../core/tree.ts";
import { FilesByName } from "./compare-trees.ts";
import { scanWorkspace } from "./scan-workspace.ts";
import type { ArchiveMember } from "./tree-archive.ts";

/** Whether every file and link of a tree is in the folder, as it should be. The folder may hold more. */
export async function isInstalled(files: SandboxFiles, folder: string, wanted: readonly TreeEntry[]): Promise<boolean> {
  const entries = await entriesOf(files, folder);
  const byName = new FilesByName(entries);
  const there = new Map(entries.map((entry) => [entry.path, byName.of(entry) ?? entry]));
  return wanted.every(({ path, type, sha256, target }) => {
    const found = there.get(path);
    return found?.type === type && found.sha256 === sha256 && (type !== "link" || found.target === target);
  });
}

async function entriesOf(files: SandboxFiles, folder: string): Promise<TreeEntry[]> {
  try {
    return (await scanWorkspace(files, () => undefined, folder)).entries;
  } catch (error) {
    if (error instanceof AppError && (error.code === "not_found" || error.code === "invalid")) return [];
    throw error;
  }
}

export function skillMembers(tree: readonly TreeEntry[]): ArchiveMember[] {
  return tree.map(({ type, path, mode, mtimeNs, size, target, chunks }) => {
    if (type === "unreadable") throw new AppError("internal", "a skill contains an unreadable entry");
    return { member: { type, path, mode, mtimeNs, size, target }, chunks };
  });
}
