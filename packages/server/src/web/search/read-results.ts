/** The pages of results of search engines, as far as their markup is known. Runs in the thread that reads HTML. */

import { type DomDocument, type DomElement, textOf } from "../dom.ts";
import { webLimits } from "../limits.ts";
import { linkOf } from "../page-address.ts";
import type { FoundResult, FoundResults, HtmlProvider } from "../reader-job.ts";
import { tameHtml } from "../tame-html.ts";

interface Markup {
  /** One result, and within it the link with its title, and the words around. */
  result: string;
  link: string;
  snippet: string;
  /** Where it says that there is nothing, and where it takes us for a robot. */
  none: string;
  captcha: string;
  /** The address that a link leads to in the end; undefined for an advertisement. */
  target(url: URL): URL | undefined;
}

const markups: Record<HtmlProvider, Markup> = {
  mojeek: {
    result: "ul.results-standard > li",
    link: "h2 a, a.title",
    snippet: "p.s",
    none: ".no-results, .results-none, p.no-result",
    captcha: "form[action*=captcha], #captcha, .captcha",
    target: (url) => url,
  },
  duckduckgo: {
    result: ".result:not(.result--ad):not(.result--no-result)",
    link: "a.result__a",
    snippet: ".result__snippet",
    none: ".no-results, .result--no-result",
    captcha: ".anomaly-modal__title, #challenge-form, [class*=anomaly-modal]",
    target: (url) => (/(^|\.)duckduckgo\.com$/.test(url.hostname) ? redirected(url) : url),
  },
  yandex: {
    result: "li.serp-item, .serp-item",
    link: "a.OrganicTitle-Link, h2 a",
    snippet: ".OrganicTextContentSpan, .TextContainer, .Organic-ContentWrapper",
    none: ".EmptySearchResults, .EmptySearchResults-Title, .misspell__message",
    captcha: ".CheckboxCaptcha, .AdvancedCaptcha, form[action*=captcha], [class*=SmartCaptcha]",
    target: (url) => (/(^|\.)(yabs|an)\.yandex\.[a-z]+$/.test(url.hostname) ? undefined : url),
  },
};

/** `//duckduckgo.com/l/?uddg=https%3A%2F%2F…`; its advertisements go by `/y.js`. */
function redirected({ pathname, searchParams }: URL): URL | undefined {
  return pathname === "/l/" ? (URL.parse(searchParams.get("uddg") ?? "") ?? undefined) : undefined;
}

export function readResults(provider: HtmlProvider, source: string, base: string): FoundResults {
  const markup = markups[provider];
  const { document } = tameHtml(source);
  const results = resultsIn(document, markup, base);
  if (results.length > 0) return { state: "results", results };
  if (/captcha/i.test(new URL(base).pathname) || has(document, markup.captcha)) return { state: "captcha", results };
  return { state: has(document, markup.none) ? "none" : "unknown", results };
}

function has(document: DomDocument, selector: string): boolean {
  return document.querySelector(selector) !== null;
}

function resultsIn(document: DomDocument, markup: Markup, base: string): FoundResult[] {
  const found = new Map<string, FoundResult>();
  for (const element of document.querySelectorAll(markup.result)) {
    const result = resultOf(element, markup, base);
    if (result !== undefined && !found.has(result.url)) found.set(result.url, result);
    if (found.size >= webLimits.results.max) break;
  }
  return [...found.values()];
}

function resultOf(element: DomElement, { link, snippet, target }: Markup, base: string): FoundResult | undefined {
  const anchor = element.querySelector(link);
  const href = linkOf(anchor?.getAttribute("href") ?? null, base);
  const url = href === undefined ? undefined : linkOf(target(new URL(href))?.href ?? null, base);
  const title = textOf(anchor, webLimits.titleCharacters);
  if (url === undefined || title === "") return undefined;
  return { title, url, snippet: textOf(element.querySelector(snippet), webLimits.snippetCharacters) };
}
