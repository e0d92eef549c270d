/** The folders that the file API reaches: the sandbox's user may write them (S6). The guest holds to the same list (native/guest/walk.c). */
export const topFolders = ["/workspace", "/home/user", "/tmp", "/dev/shm"] as const;

/** The one that a path begins in; a relative path begins in the first. */
export function topFolderOf(path: string): string {
  return topFolders.find((top) => path === top || path.startsWith(`${top}/`)) ?? topFolders[0];
}
