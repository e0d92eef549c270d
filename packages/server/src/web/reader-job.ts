/** What is asked of the thread that reads HTML, and what it answers. */
export interface PageLink {
  text: string;
  url: string;
}

export interface PageText {
  title: string | null;
  byline: string | null;
  siteName: string | null;
  publishedAt: string | null;
  language: string | null;
  /** Whether its main text was found; otherwise it is all that the page has beside menus. */
  isArticle: boolean;
  markdown: string;
  links: PageLink[];
  isCut: boolean;
}

export interface FoundResult {
  title: string;
  url: string;
  snippet: string;
}

/** `unknown`: not a page of results as far as its parser knows them. */
export interface FoundResults {
  state: "results" | "none" | "captcha" | "unknown";
  results: FoundResult[];
}

export const htmlProviders = ["mojeek", "duckduckgo", "yandex"] as const;
export type HtmlProvider = (typeof htmlProviders)[number];

export type ReaderJob =
  | { kind: "page"; html: string; url: string; mayBeArticle: boolean }
  | { kind: "results"; html: string; url: string; provider: HtmlProvider };

export type ReaderResult<J extends ReaderJob> = J extends { kind: "page" } ? PageText : FoundResults;
