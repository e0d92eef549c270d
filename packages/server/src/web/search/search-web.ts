import type { RunErrand } from "../../core/errand.ts";
import { AppError, messageOf } from "../../core/errors.ts";
import { readContentType } from "../content-kind.ts";
import { decodeText } from "../decode-text.ts";
import { follow } from "../follow.ts";
import { webLimits } from "../limits.ts";
import { readBody } from "../read-body.ts";
import type { Reader } from "../reader.ts";
import type { FoundResult, FoundResults } from "../reader-job.ts";
import type { Health } from "./health.ts";
import { type Provider, type ProviderName, questionUrl } from "./providers.ts";
import { readSearxng } from "./read-searxng.ts";

export interface SearchRequest {
  query: string;
  maxResults?: number;
  /** This one alone, even if it rests; otherwise one after the other until one answers. */
  provider?: ProviderName;
  signal: AbortSignal;
}

interface FailedProvider {
  provider: ProviderName;
  reason: string;
  /** Policy refused it; the provider itself has done nothing. */
  isRefused: boolean;
  /** How long it is not asked again; null when it is asked the next time. */
  restsMs: number | null;
}

export interface SearchOutcome {
  query: string;
  provider: ProviderName;
  results: FoundResult[];
  /** Those that were asked before, or would have been. */
  failed: FailedProvider[];
}

export interface SearchParts {
  run: RunErrand;
  reader: Pick<Reader, "read">;
  providers: readonly Provider[];
  health: Health;
  namespace: string;
}

type Tried = { found: FoundResults } | { failure: FailedProvider; error: unknown };

/** Asks one provider after the other, and those that rest not at all. */
export async function searchWeb(parts: SearchParts, request: SearchRequest): Promise<SearchOutcome> {
  const { query, maxResults = webLimits.results.default } = request;
  const failed: FailedProvider[] = [];
  const errors: unknown[] = [];
  for (const provider of chosen(parts, request.provider)) {
    const tried = await tryProvider(parts, provider, request);
    if ("found" in tried)
      return { query, provider: provider.name, results: tried.found.results.slice(0, maxResults), failed };
    failed.push(tried.failure);
    errors.push(tried.error);
    if (request.signal.aborted || isPending(tried.error)) throw tried.error;
  }
  throw noAnswer(failed, errors);
}

function chosen({ providers }: SearchParts, name: ProviderName | undefined): readonly Provider[] {
  if (name === undefined) {
    if (providers.length > 0) return providers;
    throw new AppError("unsupported", "no search provider is configured", { hint: "an operator must set web.search" });
  }
  const found = providers.filter((provider) => provider.name === name);
  if (found.length > 0) return found;
  throw new AppError("unsupported", `the search provider ${name} is not configured`, {
    hint: `providers: ${providers.map((provider) => provider.name).join(", ")}`,
  });
}

async function tryProvider(parts: SearchParts, provider: Provider, request: SearchRequest): Promise<Tried> {
  const { health, namespace } = parts;
  const { name, base } = provider;
  const known = { provider: name, isRefused: false, restsMs: null };
  if (base === null) {
    const error = new AppError("unsupported", `no URL is configured for ${name}`, {
      hint: `an operator must set web.search to ${name}=URL`,
    });
    return { failure: { ...known, reason: error.message }, error };
  }
  const rest = request.provider === undefined ? health.resting(namespace, name) : undefined;
  if (rest !== undefined) {
    const error = new AppError("unavailable", `${name} is not used for now: ${rest.reason}`, {
      retryAfterMs: rest.forMs,
    });
    return { failure: { ...known, reason: error.message, restsMs: rest.forMs }, error };
  }
  try {
    const found = await ask(parts, provider, base, request);
    health.answered(namespace, name);
    return { found };
  } catch (error) {
    const reason = messageOf(error);
    if (isRefusal(error) || request.signal.aborted)
      return { failure: { ...known, reason, isRefused: isRefusal(error) }, error };
    const restsMs = health.failed(namespace, name, reason, error instanceof CaptchaError);
    return { failure: { ...known, reason, restsMs }, error };
  }
}

class CaptchaError extends AppError {
  constructor() {
    super("unavailable", "it takes us for a robot and wants a captcha solved");
  }
}

async function ask({ run, reader }: SearchParts, provider: Provider, base: URL, request: SearchRequest) {
  const { name } = provider;
  const { signal } = request;
  const accept = name === "searxng" ? "application/json" : "text/html";
  const answer = await follow(run, questionUrl(provider, base, request.query), accept, signal);
  const { bytes } = await readBody(answer, webLimits.searchBytes);
  const { kind, charset } = readContentType(answer.headers["content-type"]);
  const text = decodeText(bytes, charset, kind ?? "html");
  const url = answer.url.href;
  const found =
    name === "searxng"
      ? readJson(text, url, answer.status)
      : await reader.read({ kind: "results", html: text, url, provider: name }, signal);
  if (found.state === "captcha" || (found.state === "unknown" && [202, 403, 429].includes(answer.status)))
    throw new CaptchaError();
  if (found.state === "unknown" || answer.status >= 400)
    throw new AppError("unavailable", `unexpected page (status ${answer.status})`);
  return found;
}

function readJson(text: string, url: string, status: number): FoundResults {
  if (status === 403)
    throw new AppError("unavailable", "status 403: `json` may be missing from search.formats in its settings");
  if (status >= 400) throw new AppError("unavailable", `status ${status}`);
  return readSearxng(text, url);
}

function isRefusal(error: unknown): error is AppError {
  return error instanceof AppError && error.code === "forbidden";
}

/** A human has been asked: whoever searches waits for them, and is not sent to ask about the next. */
function isPending(error: unknown): boolean {
  return isRefusal(error) && error.details?.approval_state === "pending";
}

/** If policy alone is in the way, that is what is said, with how to ask. */
function noAnswer(failed: readonly FailedProvider[], errors: readonly unknown[]): AppError {
  const details = { failed: failed.map(({ provider, reason, restsMs }) => ({ provider, reason, rests_ms: restsMs })) };
  const refusals = errors.filter(isRefusal);
  const [refusal] = refusals;
  if (refusal !== undefined && failed.every(({ isRefused, restsMs }) => isRefused || restsMs === null))
    return new AppError("forbidden", refusal.message, {
      ...(refusal.hint === undefined ? {} : { hint: refusal.hint }),
      details: { ...refusal.details, ...details },
    });
  const rests = failed.flatMap(({ restsMs }) => restsMs ?? []);
  return new AppError("unavailable", `no search provider responds: ${summary(failed)}`, {
    details,
    ...(rests.length === 0 ? {} : { retryAfterMs: Math.min(...rests) }),
  });
}

function summary(failed: readonly FailedProvider[]): string {
  return failed
    .map(({ provider, reason }) => `${provider}: ${reason}`)
    .join("; ")
    .slice(0, 1_000);
}
