import { plain, readPage } from "../fetch-page.ts";
import { webLimits } from "../limits.ts";
import { oneLine } from "../one-line.ts";
import { readAddress } from "../page-address.ts";
import type { Reader } from "../reader.ts";
import type { PageLink } from "../reader-job.ts";
import { type TextPart, takePart } from "../take-part.ts";
import type { OpenedPage } from "./browser.ts";
import type { BrowserRequest } from "./drive.ts";

export interface BrowseRequest extends Omit<BrowserRequest, "url"> {
  url: string;
  /** Of its text, in this answer. */
  maxCharacters: number;
  /** Where in the text it begins: the `nextOffset` of the answer before. */
  offset: number;
}

export interface BrowsedPage extends Pick<OpenedPage, "url" | "status" | "complete" | "blocked" | "picture">, TextPart {
  title: string | null;
  links: PageLink[];
  isCut: boolean;
}

/** Open it, turn what it shows into text, take a part of that. */
export async function browsePage(
  open: (request: BrowserRequest) => Promise<OpenedPage>,
  reader: Pick<Reader, "read">,
  { maxCharacters, offset, ...request }: BrowseRequest,
): Promise<BrowsedPage> {
  const page = await open({ ...request, url: readAddress(request.url) });
  const { url, status, complete, blocked, picture, content } = page;
  const text = request.form === "markdown" ? await readPage(reader, content, url, request.signal) : plain(content);
  return {
    ...{ url, status, complete, blocked, picture },
    title: oneLine(page.title, webLimits.titleCharacters) || null,
    links: text.links,
    ...takePart(text.markdown, offset, maxCharacters),
    isCut: page.cut || text.isCut,
  };
}
