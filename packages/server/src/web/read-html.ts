/** From HTML to what a reader wants of it. Runs in a thread of its own: pages are hostile. */
import { Readability } from "@mozilla/readability";
import { type DomDocument, type DomElement, textOf } from "./dom.ts";
import { webLimits } from "./limits.ts";
import { MarkdownWriter } from "./markdown.ts";
import { oneLine } from "./one-line.ts";
import { linkOf } from "./page-address.ts";
import type { PageLink, PageText } from "./reader-job.ts";
import { tameHtml } from "./tame-html.ts";

/** What is shorter is no article: the page is taken as it is. */
const articleCharacters = 200;
/** Around what is to be read, on a page that is no article. */
const surroundings = "nav, header, footer, aside, form, [role=navigation], [role=banner], [role=contentinfo], [hidden]";

export function readHtml(source: string, url: string, mayBeArticle: boolean): PageText {
  const { document, isCut } = tameHtml(source);
  const base = linkOf(document.querySelector("base")?.getAttribute("href") ?? null, url) ?? url;
  const title = textOf(document.querySelector("title"), webLimits.titleCharacters);
  const language = document.documentElement.getAttribute("lang");
  const article = mayBeArticle ? findArticle(document) : undefined;
  const root = article?.content ?? bodyOf(mayBeArticle ? tameHtml(source).document : document);
  const markdown = new MarkdownWriter(base).write(root);
  const words = (text: string | null | undefined) => oneLine(text ?? "", webLimits.titleCharacters) || null;
  return {
    title: words(article?.title) ?? words(title),
    byline: words(article?.byline),
    siteName: words(article?.siteName),
    publishedAt: words(article?.publishedTime),
    language: words(article?.lang ?? language),
    isArticle: article !== undefined,
    markdown: markdown.slice(0, webLimits.textCharacters).toWellFormed(),
    links: linksIn(root, base),
    isCut: isCut || markdown.length > webLimits.textCharacters,
  };
}

/** Changes the document. What is in the way of finding it is no reason to read nothing. */
function findArticle(document: DomDocument) {
  Object.defineProperty(document.body, "innerHTML", { get: () => "", set: refuse });
  const reader = new Readability<DomElement>(document as never, {
    // What it finds is not judged by it: it would begin again, from HTML that it wrote, and read without our limits.
    charThreshold: -1,
    disableJSONLD: true,
    keepClasses: true, // they name the language of code
    serializer: (element) => element as unknown as DomElement,
  });
  try {
    const article = reader.parse();
    if (article === null || !article.content || (article.length ?? 0) < articleCharacters) return undefined;
    return { ...article, content: article.content };
  } catch {
    return undefined;
  }
}

function refuse(): never {
  throw new Error("nothing is read twice");
}

function bodyOf({ body }: DomDocument): DomElement {
  const around = [...body.querySelectorAll(surroundings)];
  const within = around.reduce((sum, element) => sum + lengthOf(element), 0);
  // A page that is all menu is read as one.
  if (within < lengthOf(body)) for (const element of around) element.remove();
  return body;
}

function lengthOf(element: DomElement): number {
  return element.textContent?.trim().length ?? 0;
}

function linksIn(root: DomElement, base: string): PageLink[] {
  const found = new Map<string, PageLink>();
  for (const element of root.querySelectorAll("a")) {
    const url = linkOf(element.getAttribute("href"), base);
    const text = textOf(element, webLimits.linkCharacters);
    if (url !== undefined && text !== "" && !found.has(url)) found.set(url, { text, url });
    if (found.size >= webLimits.links) break;
  }
  return [...found.values()];
}
