import { AppError } from "./errors.ts";

/** The disk under the data folder, as its engine counts it. */
export interface DiskRoom {
  /** Free, without what is reserved for the host. */
  freeBytes: number;
  /** Promised to workspaces, and to what is being saved, and not written yet. */
  claimedBytes: number;
  /** Written to workspaces. */
  writtenBytes: number;
  reserveBytes: number;
}

/** Refuses what the disk has no room for once all promises are kept (hazard 8). */
export function checkDiskRoom(room: DiskRoom, what: string, sizeBytes = 0): void {
  const { freeBytes, claimedBytes, reserveBytes } = room;
  if (claimedBytes <= freeBytes) return;
  const [claimed, free] = [showGibibytes(claimedBytes), showGibibytes(Math.max(0, freeBytes))];
  throw new AppError(
    "limit_exceeded",
    `not enough disk space for ${what}: with it sandboxes could use ${claimed}, and ${free} are free`,
    {
      hint: "set less storage, destroy sandboxes, delete layers and checkpoints, or free space on the disk of CAISSON_HOME",
      details: { sizeBytes, claimedBytes, freeBytes, reserveBytes },
    },
  );
}

export const showGibibytes = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
