import { defined } from "../../lib/defined.ts";
import { visible } from "../terminal.ts";
import { tellJson, tellLine } from "./tell.ts";
import type { Verb } from "./verb.ts";
import { browser } from "./web-browser.ts";
import { numberOf, session, tellText } from "./web-options.ts";

interface Found {
  provider: string;
  results: { title: string; url: string; snippet: string }[];
  failed: { provider: string; reason: string }[];
}

const search: Verb = {
  summary: "search the web (agent tool web_search)",
  usage: "QUERY",
  words: [1, 1],
  options: {
    limit: { type: "string", value: "N", help: "maximum number of results" },
    provider: {
      type: "string",
      value: "NAME",
      help: "searxng, mojeek, duckduckgo or yandex (default: the setting web.search, in order)",
    },
    session,
  },
  run: async (call) => {
    const { caisson, words, options, io, json } = call;
    const given = { max_results: numberOf(call, "limit"), provider: options.text("provider") };
    const input = { query: words[0], ...defined({ ...given, session_id: options.text("session") }) };
    const { result } = await caisson.tools.call<Found>("web_search", input);
    if (json) return tellJson(io, result);
    for (const { provider, reason } of result.failed) io.stderr.write(`${visible(`${provider}: ${reason}`)}\n`);
    for (const { title, url, snippet } of result.results)
      tellText(call, [title, `  ${url}`, ...(snippet === "" ? [] : [`  ${snippet}`])].join("\n"));
    return tellLine(io, `${result.results.length} results from ${result.provider}`);
  },
};

interface Page {
  content: string;
  next_offset: number | null;
}

const fetch: Verb = {
  summary: "print a web page as Markdown (agent tool fetch_webpage)",
  usage: "URL",
  words: [1, 1],
  options: {
    chars: { type: "string", value: "N", help: "maximum number of characters" },
    offset: { type: "string", value: "N", help: "first character to print" },
    session,
  },
  run: async (call) => {
    const { caisson, words, options, io, json } = call;
    const given = { max_chars: numberOf(call, "chars"), offset: numberOf(call, "offset") };
    const input = { url: words[0], ...defined({ ...given, session_id: options.text("session") }) };
    const { result } = await caisson.tools.call<Page>("fetch_webpage", input);
    if (json) return tellJson(io, result);
    if (result.next_offset !== null) io.stderr.write(`more text follows: --offset ${result.next_offset}\n`);
    return tellText(call, result.content);
  },
};

export const webVerbs: Record<string, Verb> = { "web search": search, "web fetch": fetch, "web browser": browser };
