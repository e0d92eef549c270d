import type { ErrandResponse, RunErrand } from "../core/errand.ts";
import { AppError } from "../core/errors.ts";
import { defined } from "../lib/defined.ts";
import { webLimits } from "./limits.ts";
import { readAddress } from "./page-address.ts";

export interface Fetched extends ErrandResponse {
  /** Where it was found, after redirects. */
  url: URL;
  redirects: string[];
}

const redirecting = [301, 302, 303, 307, 308];

/** Who asks, and for what. A site may refuse us by this name. */
const ownHeaders = {
  "User-Agent": "Mozilla/5.0 (compatible; Caisson; fetches pages for agents)",
  "Accept-Language": "en, *;q=0.5",
  "Accept-Encoding": "gzip, br",
} as const;

/** Every hop is an errand, judged like the first. */
export async function follow(run: RunErrand, start: URL, accept: string, signal: AbortSignal): Promise<Fetched> {
  const redirects: string[] = [];
  let after: ErrandResponse | undefined;
  for (let url = start; ; ) {
    const answer = await run({ url, headers: { ...ownHeaders, Accept: accept }, signal, ...defined({ after }) });
    const { location } = answer.headers;
    if (!redirecting.includes(answer.status) || typeof location !== "string") return { ...answer, url, redirects };
    answer.body.destroy();
    redirects.push(url.href);
    if (redirects.length > webLimits.redirects)
      throw new AppError("unavailable", `${start.host} redirects more than ${webLimits.redirects} times`);
    url = readAddress(location, url);
    after = answer;
  }
}
