import { HttpError } from "./problem.ts";

export interface ByteRange {
  offset: number;
  length: number;
}

/** One range of RFC 9110; undefined for none, for several, and for what is no range: the whole file is the answer then. */
export function parseRange(header: string | undefined, sizeBytes: number): ByteRange | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "");
  const [, from = "", to = ""] = match ?? [];
  if (match === null || (from === "" && to === "")) return undefined;
  const offset = from === "" ? Math.max(0, sizeBytes - Number(to)) : Number(from);
  const end = from === "" || to === "" ? sizeBytes : Math.min(sizeBytes, Number(to) + 1);
  if (from !== "" && to !== "" && Number(to) < Number(from)) return undefined;
  if (offset >= end)
    throw new HttpError(416, "invalid", "the file does not reach that far", {
      headers: { "content-range": `bytes */${sizeBytes}` },
    });
  return { offset, length: end - offset };
}
