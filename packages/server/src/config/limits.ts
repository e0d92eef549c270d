const KiB = 1024;

/** Configuration. */
export const configLimits = {
  fileBytes: 256 * KiB,
  /** A value shown in an error. */
  shownCharacters: 60,
  /** That are named for sandboxes. */
  folders: 64,
} as const;
