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
    `no disk for ${what}: with it ${claimed} would be promised, and ${free} are free`,
    {
      hint: "ask for less storage, destroy sandboxes, remove layers and checkpoints, or free disk where CAISSON_HOME lies",
      details: { sizeBytes, claimedBytes, freeBytes, reserveBytes },
    },
  );
}

export const showGibibytes = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
