import type { Range } from "../core/limits.ts";

/** A range of bytes in MB, as settings count them; a range of milliseconds in seconds. */
export const inMb = scale(1024 ** 2);
export const inSeconds = scale(1000);

function scale(unit: number): (range: Range) => Range {
  return ({ default: usual, min, max }) => ({ default: usual / unit, min: min / unit, max: max / unit });
}
