import type { Blobs } from "../core/blob.ts";
import type { SandboxFiles } from "../core/file.ts";
import { planRestore, type RestorePlan } from "./plan-restore.ts";
import { type ScannedWorkspace, scanWorkspace } from "./scan-workspace.ts";
import { treeArchive } from "./tree-archive.ts";
import { readManifest, writeManifest } from "./tree-manifest.ts";

export interface TakenTree extends ScannedWorkspace {
  /** The digest by which it is found again. */
  manifest: string;
  /** What the blob store grew by. */
  addedBytes: number;
}

/** Stores a workspace. What is stored is safe from a sweep until `refer` has made something refer to it. */
export async function takeTree(
  blobs: Blobs,
  files: SandboxFiles,
  refer: (tree: TakenTree) => Promise<void>,
): Promise<TakenTree> {
  await using session = blobs.begin();
  const scanned = await scanWorkspace(files, ({ digest, bytes }) => session.put(digest, bytes));
  const manifest = await writeManifest(session, scanned.entries);
  await session.commit();
  const tree: TakenTree = { ...scanned, manifest, addedBytes: session.addedBytes };
  await refer(tree);
  return tree;
}

/** Makes a workspace what it was. Only what is different is sent, and nothing is removed for what cannot fit (S93). */
export async function restoreTree(
  blobs: Blobs,
  files: SandboxFiles,
  manifest: string,
): Promise<Omit<RestorePlan, "members" | "neededBytes">> {
  const wanted = await Array.fromAsync(readManifest(blobs, manifest));
  const live = await scanWorkspace(files, () => undefined);
  const { members, neededBytes, ...plan } = planRestore(live.entries, wanted);
  if (members.length > 0) await files.restore(treeArchive(blobs, members), neededBytes);
  return plan;
}
