const KiB = 1024;

/** Configuration. */
export const configLimits = {
  fileBytes: 256 * KiB,
  /** A value shown in an error. */
  shownCharacters: 60,
  /** Maximum host folders for sandboxes, per role. */
  folders: 64,
} as const;
