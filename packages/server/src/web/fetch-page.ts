import type { RunErrand } from "../core/errand.ts";
import { AppError } from "../core/errors.ts";
import { type ContentKind, guessKind, readContentType } from "./content-kind.ts";
import { decodeText } from "./decode-text.ts";
import { type Fetched, follow } from "./follow.ts";
import { webLimits } from "./limits.ts";
import { readAddress } from "./page-address.ts";
import { readBody } from "./read-body.ts";
import type { Reader } from "./reader.ts";
import type { PageText } from "./reader-job.ts";
import { type TextPart, takePart } from "./take-part.ts";

export interface PageRequest {
  url: string;
  /** Of the page, unpacked. */
  maxBytes?: number;
  /** Of its text, in this answer. */
  maxCharacters?: number;
  /** Where in the text it begins: the `nextOffset` of the answer before. */
  offset?: number;
  signal: AbortSignal;
}

export interface Page extends Omit<PageText, "markdown" | "isCut">, TextPart {
  /** Where it was found, after redirects. */
  url: string;
  redirects: string[];
  status: number;
  contentType: string;
  kind: ContentKind;
  /** The page goes on beyond what was read of it; no offset leads there, more bytes may. */
  isCut: boolean;
}

const accept = "text/html, application/xhtml+xml, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5";

/** Follow, read, decode, turn into text, take a part of it. */
export async function fetchPage(run: RunErrand, reader: Pick<Reader, "read">, request: PageRequest): Promise<Page> {
  const { pageBytes, pageCharacters } = webLimits;
  const fetched = await follow(run, readAddress(request.url), accept, request.signal);
  const { kind: told, type, charset } = readContentType(fetched.headers["content-type"]);
  if (told === undefined && type !== "") throw refuse(fetched, type);
  const { bytes, isCut } = await readBody(fetched, request.maxBytes ?? pageBytes.default);
  const kind = told ?? guessKind(bytes);
  if (kind === undefined) throw refuse(fetched, "of no type that it says");
  const url = fetched.url.href;
  const text = decodeText(bytes, charset, kind);
  const page = kind === "html" ? await readPage(reader, text, url, request.signal) : plain(text);
  const { markdown, ...about } = page;
  return {
    url,
    redirects: fetched.redirects,
    status: fetched.status,
    contentType: type,
    kind,
    ...about,
    ...takePart(markdown, request.offset ?? 0, request.maxCharacters ?? pageCharacters.default),
    isCut: isCut || page.isCut,
  };
}

/** Looking for the main text takes longest: where that is too much, all of it is read. */
export async function readPage(
  reader: Pick<Reader, "read">,
  html: string,
  url: string,
  signal: AbortSignal,
): Promise<PageText> {
  const job = { kind: "page", html, url } as const;
  try {
    return await reader.read({ ...job, mayBeArticle: true }, signal);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "too_large") throw error;
    return reader.read({ ...job, mayBeArticle: false }, signal);
  }
}

/** What is text already stays as it is. */
export function plain(text: string): PageText {
  const nothing = { title: null, byline: null, siteName: null, publishedAt: null, language: null };
  return { ...nothing, isArticle: false, markdown: text.toWellFormed(), links: [], isCut: false };
}

function refuse({ body, url }: Fetched, type: string): AppError {
  body.destroy();
  return new AppError("unsupported", `${url.href} is ${type}, which is not text`, {
    hint: "pages are HTML, text, JSON or XML; download other types with code in the sandbox",
    details: { content_type: type },
  });
}
