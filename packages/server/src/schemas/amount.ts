import { z } from "zod";

const MiB = 1024 ** 2;

/** A range is checked inside, where the error names its cap; this only keeps out what is no number. */
export const amount = z.number().min(0).max(1e12);

export function toBytes(mb: number | undefined): number | undefined {
  return mb === undefined ? undefined : Math.floor(mb * MiB);
}

export function toMb(bytes: number): number {
  return bytes / MiB;
}

export function toMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1000);
}
