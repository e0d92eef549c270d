import { z } from "zod";
import type { Range } from "../core/limits.ts";
import { showBytes, showSeconds } from "../core/size.ts";

const MiB = 1024 ** 2;

/** The range is checked inside too, for callers that come by other ways. */
function between({ min, max }: Range, unit: number, show: (value: number) => string) {
  return z
    .number()
    .min(min / unit, `below the minimum of ${show(min)}`)
    .max(max / unit, `exceeds the maximum of ${show(max)}`);
}

export const within = (range: Range) => between(range, 1, String);

export const count = (range: Range) => within(range).int();

export const megabytes = (range: Range) => between(range, MiB, showBytes);

export const seconds = (range: Range) => between(range, 1000, showSeconds);

/** Like `within`, and 0 for no limit. */
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
