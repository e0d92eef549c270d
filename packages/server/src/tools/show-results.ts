import type { ContextResult } from "../core/context.ts";
import { toolLimits } from "./limits.ts";
import { toImage } from "./show-files.ts";
import type { ToolContent } from "./tool.ts";

/** Images among the values that code showed. They are taken out of the values: nobody needs them twice. */
export function showResults(results: readonly ContextResult[]): { results: ContextResult[]; images: ToolContent[] } {
  const images: ToolContent[] = [];
  const left = results.map((result) => {
    const { png, svg, ...rest } = result;
    if (images.length >= toolLimits.images) return result;
    const image =
      png === undefined
        ? svg && toImage(Buffer.from(svg), "image/svg+xml")
        : toImage(Buffer.from(png, "base64"), "image/png");
    if (!image) return result;
    images.push(image);
    return rest;
  });
  return { results: left, images };
}
