import { setTimeout as wait } from "node:timers/promises";
import type { ErrandResponse } from "../core/errand.ts";
import { AppError } from "../core/errors.ts";
import { jsonLimits } from "../core/json-limits.ts";
import { parseJson } from "../core/parse-json.ts";
import type { RegistryWay } from "../core/registry-way.ts";
import { type Challenge, readChallenge } from "./challenge.ts";
import { registryLimits } from "./limits.ts";
import { readBounded } from "./read-bounded.ts";
import type { Reference } from "./reference.ts";
import { refuseImage } from "./refuse-image.ts";

export interface RegistryClientParts {
  way: RegistryWay;
  reference: Reference;
  /** `user:password`. */
  credentials: string | null;
  signal: AbortSignal;
  /** Before the second try; the next ones wait longer. */
  waitMs?: number;
}

interface RepositoryRequest {
  path: string;
  headers: Readonly<Record<string, string>>;
  /** Whether the registry may send on to where it keeps its blobs. */
  mayRedirect: boolean;
}

const isPassing = ({ status }: ErrandResponse) => status === 429 || status >= 500;
const isRedirect = ({ status }: ErrandResponse) => [301, 302, 303, 307, 308].includes(status);

/** Asks one registry about one repository. */
export class RegistryClient {
  readonly #parts: RegistryClientParts;
  #authorization: string | undefined;

  constructor(parts: RegistryClientParts) {
    this.#parts = parts;
  }

  /** The answer of the registry, or of where it sends on to: a good one. */
  async get(request: RepositoryRequest): Promise<ErrandResponse> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#once(request).catch((error: unknown) => {
        if (attempt >= registryLimits.tries || !mayPass(error)) throw error;
        return undefined;
      });
      if (answer !== undefined && !(isPassing(answer) && attempt < registryLimits.tries)) return this.#good(answer);
      answer?.body.destroy();
      await this.pause(attempt, answer);
    }
  }

  /** Before the next try; as long as the registry says, within reason. */
  async pause(attempt: number, answer?: ErrandResponse): Promise<void> {
    const { waitMs = registryLimits.waitMs, signal } = this.#parts;
    const told = Number(answer?.headers["retry-after"]) * 1_000;
    const usual = waitMs * 2 ** (attempt - 1);
    await wait(Math.min(Number.isFinite(told) ? told : usual, registryLimits.waitMostMs), undefined, { signal });
  }

  async #once({ path, headers, mayRedirect }: RepositoryRequest): Promise<ErrandResponse> {
    const { way, reference, signal } = this.#parts;
    const { registry, repository } = reference;
    const first = new URL(`${way.schemeOf(registry)}://${registry}/v2/${repository}/${path}`);
    let answer = await this.#ask(first, headers);
    for (let hops = 0, at = first; mayRedirect && isRedirect(answer); hops++) {
      answer.body.destroy();
      if (hops === registryLimits.redirects) throw unavailable(registry, "it sends on and on");
      at = this.#next(at, answer);
      // What opens the registry is the registry's alone.
      answer = at.host === first.host ? await this.#ask(at, headers) : await way.get({ url: at, headers, signal });
    }
    return answer;
  }

  #next(at: URL, { headers: { location } }: ErrandResponse): URL {
    const { registry } = this.#parts.reference;
    if (typeof location !== "string" || !URL.canParse(location, at.href))
      throw unavailable(registry, "it sends on to nowhere");
    const next = new URL(location, at);
    if (at.protocol === "https:" && next.protocol !== "https:")
      throw new AppError("forbidden", `${registry} redirects to ${next.host} without TLS`);
    return next;
  }

  async #ask(url: URL, headers: RepositoryRequest["headers"]): Promise<ErrandResponse> {
    const { way, signal } = this.#parts;
    const own = () =>
      this.#authorization === undefined ? headers : { ...headers, Authorization: this.#authorization };
    const answer = await way.get({ url, headers: own(), signal });
    if (answer.status !== 401) return answer;
    const challenge = readChallenge(answer.headers["www-authenticate"]);
    answer.body.destroy();
    this.#authorization = await this.#authorize(challenge);
    return way.get({ url, headers: own(), signal });
  }

  async #authorize(challenge: Challenge | undefined): Promise<string> {
    const { credentials, reference } = this.#parts;
    const basic = credentials === null ? undefined : `Basic ${Buffer.from(credentials).toString("base64")}`;
    if (challenge?.scheme === "basic") {
      if (basic === undefined) throw this.#closed();
      return basic;
    }
    if (challenge === undefined || challenge.realm === null || !URL.canParse(challenge.realm)) throw this.#closed();
    const url = new URL(challenge.realm);
    if (challenge.service !== null) url.searchParams.set("service", challenge.service);
    url.searchParams.set("scope", `repository:${reference.repository}:pull`);
    const headers = { Accept: "application/json", ...(basic === undefined ? {} : { Authorization: basic }) };
    const answer = await this.#parts.way.get({ url, headers, signal: this.#parts.signal });
    const body = await readBounded(answer.body, registryLimits.tokenBytes);
    if (answer.status !== 200) throw this.#closed();
    return `Bearer ${tokenIn(body, url.host)}`;
  }

  #closed(): AppError {
    const { reference, credentials } = this.#parts;
    const name = `${reference.registry}/${reference.repository}`;
    if (credentials === null)
      return new AppError("forbidden", `${name} requires credentials or does not exist`, {
        hint: "set credentials to the name of a secret that holds USER:PASSWORD",
      });
    return new AppError("forbidden", `${name} refuses these credentials or does not exist`);
  }

  #good(answer: ErrandResponse): ErrandResponse {
    const { status, body } = answer;
    if (status === 200 || status === 206) return answer;
    body.destroy();
    const { registry, repository, tag, digest } = this.#parts.reference;
    if (status === 401 || status === 403) throw this.#closed();
    if (status === 404) throw new AppError("not_found", `${registry} has no ${repository}:${digest ?? tag}`);
    throw unavailable(registry, `status ${status}`);
  }
}

function mayPass(error: unknown): boolean {
  return error instanceof AppError && (error.code === "unavailable" || error.code === "timeout");
}

function tokenIn(body: Buffer, host: string): string {
  let read: unknown;
  try {
    read = parseJson(body, jsonLimits.request);
  } catch {
    read = undefined;
  }
  const { token, access_token: other } = (typeof read === "object" && read !== null ? read : {}) as Record<
    string,
    unknown
  >;
  const found = token ?? other;
  if (typeof found !== "string" || !/^[\x21-\x7e]+$/.test(found)) throw refuseImage(`${host} gives no token`);
  return found;
}

function unavailable(registry: string, why: string): AppError {
  return new AppError("unavailable", `cannot use the registry ${registry}: ${why}`);
}
