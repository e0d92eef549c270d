/** A folder of this machine that the operator's configuration names; callers know it by its id alone (FIL-08). */
export interface NamedFolder {
  id: string;
  path: string;
}

export const folderId = /^[a-z0-9][a-z0-9_-]{0,31}$/;
