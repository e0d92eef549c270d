import { requestLimits } from "../core/limits.ts";
import { diskShareLimits } from "../sandboxes/fleet/disk-share-limits.ts";
import { engineLimits } from "./limits.ts";

/**
 * The storage of a sandbox that names none, where no setting does: the default, or less where the disk is small, so that
 * promises to empty sandboxes do not take it all (S96).
 */
export function usualStorageBytes(freeBytes: number): number {
  const { usualPart, usualLeastBytes, usualStepBytes } = diskShareLimits;
  const part = (freeBytes - engineLimits.diskReserveBytes) * usualPart;
  const steps = Math.floor(part / usualStepBytes) * usualStepBytes;
  return Math.min(requestLimits.storageBytes.default, Math.max(usualLeastBytes, steps));
}
