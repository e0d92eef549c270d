/** One step in the making of a read-only root, in the order given. */
export type RootEntry =
  | { kind: "folder"; path: string }
  /** Its folder is there already. */
  | { kind: "link"; path: string; target: string }
  /** A host file or folder, bound read-only and without what is mounted below it. */
  | { kind: "bind"; path: string; source: string }
  /** Hidden behind an empty folder, where it exists. */
  | { kind: "mask"; path: string };

/** Folder of Caisson's own programs in every sandbox, first in the search path. */
export const ownPrograms = "/.caisson/bin";

/** Folder of those that install packages for a caller. Outside the search path: a user's own `pip` stays what it is. */
export const installPrograms = `${ownPrograms}/install`;

/** A read-only root that engines can build for a sandbox. */
export interface RootImage {
  name: string;
  entries: readonly RootEntry[];
  /** Entries that every root has beside its own, also one that is a layer. */
  additions: readonly RootEntry[];
  /** A folder of files that lie over the tree of a root that is a layer. */
  over: string;
  /** PATH of user code. */
  searchPath: string;
}
