/** What came out of the browser's sandbox, which may be a page's doing: nothing of it is believed beyond its shape (S82). */
import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import { jsonLimits } from "../../core/json-limits.ts";
import { parseJson } from "../../core/parse-json.ts";
import { browserLimits } from "./limits.ts";

const { headCharacters, urlCharacters, pictureBytes, width, wholeHeight } = browserLimits;

const failures = ["crashed", "download", "missing", "selector", "timeout", "too_large", "unreached"] as const;

const failed = z.object({
  error: z.enum(failures),
  message: z.string().max(300),
  url: z.string().max(urlCharacters),
});

const shown = z.object({
  url: z.string().max(urlCharacters).refine(URL.canParse),
  title: z.string().max(1_000),
  status: z.int().min(0).max(999).nullable(),
  type: z.string().max(255).nullable(),
  complete: z.boolean(),
  cut: z.boolean(),
  /** What was waited for is not there. */
  missing: z.boolean().default(false),
});

export type Failed = z.output<typeof failed>;

interface Picture {
  png: Buffer;
  width: number;
  height: number;
}

export interface Shown extends z.output<typeof shown> {
  picture: Picture | null;
  content: string;
}

/** A line of JSON, a line with the picture, and the content to the end. */
export function readAnswer(output: string): Failed | Shown {
  const headEnd = output.slice(0, headCharacters).indexOf("\n");
  const pictureEnd = output.indexOf("\n", headEnd + 1);
  if (headEnd < 0 || pictureEnd < 0) throw wrong();
  const head = parse(output.slice(0, headEnd));
  const failure = failed.safeParse(head);
  if (failure.success) return failure.data;
  const found = shown.safeParse(head);
  if (!found.success) throw wrong();
  const picture = output.slice(headEnd + 1, pictureEnd);
  const content = output.slice(pictureEnd + 1).toWellFormed();
  return { ...found.data, picture: picture === "" ? null : readPicture(picture), content };
}

function parse(text: string): unknown {
  try {
    return parseJson(text, jsonLimits.request);
  } catch {
    throw wrong();
  }
}

/** PNG (RFC 2083): a signature, then a header with the size. */
function readPicture(base64: string): Picture {
  const png = Buffer.from(base64, "base64");
  const isPng = png.length >= 24 && png.subarray(0, 8).toString("latin1") === "\x89PNG\r\n\x1a\n";
  if (!isPng || png.length > pictureBytes) throw wrong();
  const size = { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
  if (size.width > width || size.height > wholeHeight) throw wrong();
  return { png, ...size };
}

function wrong(): AppError {
  return new AppError("unavailable", "invalid response from the browser", {
    hint: "try again; a page that causes this repeatedly is hostile",
  });
}
