import { AppError } from "../../core/errors.ts";
import { htmlProviders } from "../reader-job.ts";

export const providerNames = ["searxng", ...htmlProviders] as const;
export type ProviderName = (typeof providerNames)[number];

/** A search engine: where it is, and how it is asked. */
export interface Provider {
  name: ProviderName;
  /** Null: nobody has said where; SearXNG is always somebody's own. */
  base: URL | null;
}

const places: Record<ProviderName, string | null> = {
  searxng: null,
  mojeek: "https://www.mojeek.com/",
  duckduckgo: "https://html.duckduckgo.com/",
  yandex: "https://yandex.com/",
};

/** Paths are below the base: one may lie behind a proxy of the operator's. */
const questions: Record<ProviderName, { path: string; query: string; beside?: Readonly<Record<string, string>> }> = {
  searxng: { path: "search", query: "q", beside: { format: "json" } },
  mojeek: { path: "search", query: "q" },
  duckduckgo: { path: "html/", query: "q" },
  yandex: { path: "search/", query: "text" },
};

/** `mojeek`, `searxng=https://searx.example.org`: in the order in which they are asked. */
export function readProviders(list: readonly string[]): Provider[] {
  const seen = new Set<string>();
  return list.map((text) => {
    const [name = "", ...rest] = text.split("=");
    if (!isProvider(name)) throw invalid(text, `unknown search provider ${JSON.stringify(name)}`);
    if (seen.has(name)) throw invalid(text, `${name} is named twice`);
    seen.add(name);
    const place = rest.length === 0 ? places[name] : rest.join("=");
    return { name, base: place === null ? null : readBase(text, place) };
  });
}

function isProvider(name: string): name is ProviderName {
  return providerNames.some((known) => known === name);
}

function readBase(text: string, place: string): URL {
  const base = URL.parse(place.endsWith("/") ? place : `${place}/`);
  if (base === null || !/^https?:$/.test(base.protocol) || base.username !== "" || base.search + base.hash !== "")
    throw invalid(text, `${JSON.stringify(place)} is no address of a search provider`);
  return base;
}

function invalid(text: string, why: string): AppError {
  return new AppError("invalid", `web.search: ${JSON.stringify(text)}: ${why}`, {
    hint: `${providerNames.join(", ")}; or with its address: searxng=https://searx.example.org`,
  });
}

export function questionUrl({ name }: Provider, base: URL, query: string): URL {
  const { path, query: field, beside = {} } = questions[name];
  const url = new URL(path, base);
  url.searchParams.set(field, query);
  for (const [key, value] of Object.entries(beside)) url.searchParams.set(key, value);
  return url;
}
