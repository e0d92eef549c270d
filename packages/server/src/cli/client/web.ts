import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/errors.ts";
import { visible } from "../terminal.ts";
import { tellJson, tellLine } from "./tell.ts";
import type { Verb, VerbCall } from "./verb.ts";

const session = {
  type: "string",
  value: "ID",
  help: "a sandbox or a session by whose policy the web is reached; one of your own unless told",
} as const;

function numberOf({ options }: VerbCall, name: string): number | undefined {
  const text = options.text(name);
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw new AppError("invalid", `--${name}: '${text}' is no number`);
  return Number(text);
}

/** Lines of a stranger's, without what a terminal would obey. */
function tellText({ io }: VerbCall, text: string): number {
  io.stdout.write(`${text.split("\n").map(visible).join("\n")}\n`);
  return 0;
}

interface Found {
  provider: string;
  results: { title: string; url: string; snippet: string }[];
  failed: { provider: string; reason: string }[];
}

const search: Verb = {
  summary: "search the web, as agents do with web_search",
  usage: "QUERY",
  words: [1, 1],
  options: {
    limit: { type: "string", value: "N", help: "results at most" },
    provider: {
      type: "string",
      value: "NAME",
      help: "searxng, mojeek, duckduckgo or yandex; each in turn unless told",
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
    return tellLine(io, `${result.results.length} results of ${result.provider}`);
  },
};

interface Page {
  content: string;
  next_offset: number | null;
}

const fetch: Verb = {
  summary: "read a web page as Markdown, as agents do with fetch_webpage",
  usage: "URL",
  words: [1, 1],
  options: {
    chars: { type: "string", value: "N", help: "of its text, at most" },
    offset: { type: "string", value: "N", help: "where in the text to begin" },
    session,
  },
  run: async (call) => {
    const { caisson, words, options, io, json } = call;
    const given = { max_chars: numberOf(call, "chars"), offset: numberOf(call, "offset") };
    const input = { url: words[0], ...defined({ ...given, session_id: options.text("session") }) };
    const { result } = await caisson.tools.call<Page>("fetch_webpage", input);
    if (json) return tellJson(io, result);
    if (result.next_offset !== null) io.stderr.write(`it goes on: --offset ${result.next_offset}\n`);
    return tellText(call, result.content);
  },
};

const browser: Verb = {
  summary: "read a web page in a browser, as agents do with browser_fetch",
  usage: "URL",
  words: [1, 1],
  options: {
    "wait-for": { type: "string", value: "SELECTOR", help: "an element to wait for" },
    screenshot: { type: "boolean", help: "take a picture of it" },
    session,
  },
  run: async (call) => {
    const { caisson, words, options, io, json } = call;
    const given = { wait_for: options.text("wait-for"), session_id: options.text("session") };
    const input = { url: words[0], screenshot: options.flag("screenshot"), ...defined(given) };
    const { result } = await caisson.tools.call<Page>("browser_fetch", input);
    return json ? tellJson(io, result) : tellText(call, result.content);
  },
};

export const webVerbs: Record<string, Verb> = { "web search": search, "web fetch": fetch, "web browser": browser };
