import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import { jsonLimits } from "../../core/json-limits.ts";
import { parseJson } from "../../core/parse-json.ts";
import { webLimits } from "../limits.ts";
import { oneLine } from "../one-line.ts";
import { linkOf } from "../page-address.ts";
import type { FoundResults } from "../reader-job.ts";

const answerSchema = z.object({
  results: z.array(z.object({ url: z.string(), title: z.string().nullish(), content: z.string().nullish() })),
  /** Pairs of a name and a reason. */
  unresponsive_engines: z.array(z.tuple([z.string(), z.string()]).rest(z.unknown())).default([]),
});

/** SearXNG's `format=json`. It asks others: when none of them answers, nothing was found out. */
export function readSearxng(text: string, base: string): FoundResults {
  const parsed = answerSchema.safeParse(parse(text));
  if (!parsed.success) return { state: "unknown", results: [] };
  const { results: given, unresponsive_engines: silent } = parsed.data;
  const results = given.slice(0, webLimits.results.max).flatMap(({ url: href, title, content }) => {
    const url = linkOf(href, base);
    if (url === undefined) return [];
    const words = oneLine(title ?? "", webLimits.titleCharacters);
    return [{ url, title: words === "" ? url : words, snippet: oneLine(content ?? "", webLimits.snippetCharacters) }];
  });
  if (results.length > 0) return { state: "results", results };
  if (silent.length === 0) return { state: "none", results };
  const reasons = silent.slice(0, 5).map(([name, why]) => `${name}: ${why}`);
  throw new AppError("unavailable", `none of its engines responds (${oneLine(reasons.join(", "), 200)})`);
}

function parse(text: string): unknown {
  try {
    return parseJson(text, jsonLimits.data);
  } catch {
    return undefined;
  }
}
