import { z } from "zod";
import { httpLimits } from "../core/http-limits.ts";

const { min, max } = httpLimits.page;

export const pageQuery = z.strictObject({
  limit: z.coerce.number().int().min(min).max(max).optional().describe("entries of one page"),
  cursor: z.string().min(1).max(128).optional().describe("from the Link of the page before"),
});

/** RFC 8288: the same request with the next cursor. */
export function nextPage(url: string, cursor: string): Record<string, string> {
  const { pathname, searchParams } = new URL(url, "http://localhost");
  searchParams.set("cursor", cursor);
  return { link: `<${pathname}?${searchParams}>; rel="next"` };
}
