import { z } from "zod";
import { httpLimits } from "../http/limits.ts";
import { written } from "./written.ts";

const { default: usual, min, max } = httpLimits.page;

export const pageQuery = z.strictObject({
  limit: written(z.number().int().min(min).max(max)).default(usual).describe("entries per page"),
  cursor: z.string().min(1).max(128).optional().describe("from the Link header of the previous page"),
});

/** For the description of a list. */
export const pageHeaders = { Link: 'rel="next" leads to the next page, where there is one' };

/** RFC 8288: the same request with the next cursor. */
function nextPage(url: string, cursor: string): Record<string, string> {
  const { pathname, searchParams } = new URL(url, "http://localhost");
  searchParams.set("cursor", cursor);
  return { link: `<${pathname}?${searchParams}>; rel="next"` };
}

/** A page that is full may have one after its last row. */
export function linkAfter<T>(
  rows: readonly T[],
  limit: number,
  url: string,
  cursorOf: (row: T) => string,
): Record<string, string> {
  const last = rows.at(-1);
  return rows.length < limit || last === undefined ? {} : nextPage(url, cursorOf(last));
}
