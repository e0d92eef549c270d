/** A folder of this machine that the operator's configuration names; callers know it by its id alone (FIL-08). */
export interface NamedFolder {
  id: string;
  path: string;
}

/** Uses of a folder by a sandbox: begin with a copy of it, or copy output to it. */
export const folderRoles = ["input", "output"] as const;
export type FolderRole = (typeof folderRoles)[number];

export const folderId = /^[a-z0-9][a-z0-9_-]{0,31}$/;
