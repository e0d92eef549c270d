import { z } from "zod";
import type { Range } from "../core/limits.ts";

const MiB = 1024 ** 2;

/** A number of any kind; the same range is checked inside for callers that come by other ways. */
export const within = ({ min, max }: Range) => z.number().min(min).max(max);

export const count = (range: Range) => within(range).int();

export const megabytes = ({ min, max }: Range) =>
  z
    .number()
    .min(min / MiB)
    .max(max / MiB);

export const seconds = ({ min, max }: Range) =>
  z
    .number()
    .min(min / 1000)
    .max(max / 1000);

/** Where 0 means that there is no limit. */
export const secondsOrNone = (range: Range) => z.union([z.literal(0), seconds(range)]);

export function toBytes(mb: number | undefined): number | undefined {
  return mb === undefined ? undefined : Math.floor(mb * MiB);
}

export function toMb(bytes: number): number {
  return bytes / MiB;
}

export function toMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1000);
}
