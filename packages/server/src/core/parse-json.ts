import { type JsonBounds, JsonScan } from "../lib/json-scan.ts";
import { AppError } from "./errors.ts";

/** The value of a JSON text from outside. Text past its bounds is `too_large`, and no parser sees it; what is no JSON is a SyntaxError. */
export function parseJson(text: string | Buffer, bounds: JsonBounds): unknown {
  const why = new JsonScan(bounds).push(typeof text === "string" ? Buffer.from(text) : text);
  if (why !== undefined) throw new AppError("too_large", `JSON with ${why}`);
  return JSON.parse(typeof text === "string" ? text : text.toString("utf8"));
}
