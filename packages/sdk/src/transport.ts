import { ApiError, ConnectionError, readProblem, TimeoutError } from "./error.ts";

export interface ClientOptions {
  /** URL of the daemon. */
  url: string;
  /** An API key. */
  key?: string;
  /** Another than the key's own: for admins. */
  namespace?: string;
  /** Default priority of its jobs in the queue, -100 to 100; higher goes first within the namespace. */
  priority?: number;
  /** For an answer to begin; a stream may then take as long as it takes. */
  timeoutMs?: number;
  /** How often a call is tried again that may be repeated without a second effect. */
  retries?: number;
  fetch?: typeof fetch;
  /** Opens WebSockets, in place of the global class. */
  openSocket?: (url: URL) => WebSocket;
}

export type Query = Record<string, string | number | boolean | readonly string[] | undefined>;

export interface Call {
  query?: Query;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is. */
  body?: string | Uint8Array | Blob | ReadableStream<Uint8Array>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** None: the call waits for something that may take any time. */
  timeoutMs?: number | null;
  /** The daemon gives the same answer to the same key, so that a repetition makes nothing twice. */
  idempotencyKey?: string;
}

const defaultTimeoutMs = 60_000;
const defaultRetries = 2;
const firstWaitMs = 100;
const longestWaitMs = 10_000;

/** One way to the daemon: adds the key, reads refusals, repeats what may be repeated. */
export class Transport {
  readonly #options: ClientOptions;
  readonly #base: URL;
  readonly #fetch: typeof fetch;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#base = new URL(options.url);
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  async json<T>(method: string, path: string, call: Call = {}): Promise<T> {
    const response = await this.send(method, path, call);
    return (response.status === 204 ? undefined : await response.json()) as T;
  }

  /** The answer, whose body is still to be read; rejects with an ApiError for any refusal. */
  async send(method: string, path: string, call: Call = {}): Promise<Response> {
    const isSafe = method === "GET" || method === "HEAD" || method === "DELETE" || call.idempotencyKey !== undefined;
    const isRepeatable = !(call.body instanceof ReadableStream);
    const most = isRepeatable ? (this.#options.retries ?? defaultRetries) : 0;
    for (let tries = 0; ; tries++) {
      try {
        return await this.#once(method, path, call);
      } catch (error) {
        if (tries >= most || !mayRepeat(error, isSafe)) throw error;
        await wait(waitMs(error, tries), call.signal);
      }
    }
  }

  /** A request that is somebody else's to answer: whatever the status, it is the answer. */
  raw(path: string, init: RequestInit): Promise<Response> {
    const headers = this.#headers(init.headers);
    return this.#fetch(this.#url(path), { redirect: "manual", ...init, headers });
  }

  /** For what cannot be fetched. */
  openSocket(path: string, query: Query): WebSocket {
    const url = this.#url(path, query);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    return this.#options.openSocket?.(url) ?? new WebSocket(url);
  }

  /** Returns the URL of a path from the daemon. */
  absolute(path: string): string {
    return new URL(path, this.#base).href;
  }

  #headers(given: RequestInit["headers"]): Headers {
    const { key, namespace, priority } = this.#options;
    const headers = new Headers(given);
    if (key !== undefined) headers.set("x-api-key", key);
    if (namespace !== undefined) headers.set("x-caisson-namespace", namespace);
    if (priority !== undefined) headers.set("x-caisson-priority", String(priority));
    return headers;
  }

  #url(path: string, query: Query = {}): URL {
    const url = new URL(`${this.#base.pathname.replace(/\/$/, "")}${path}`, this.#base);
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined) continue;
      for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(one));
    }
    return url;
  }

  async #once(method: string, path: string, call: Call): Promise<Response> {
    const headers = this.#headers(call.headers);
    if (call.idempotencyKey !== undefined) headers.set("idempotency-key", call.idempotencyKey);
    if (call.json !== undefined) headers.set("content-type", "application/json");
    const body = call.json === undefined ? call.body : JSON.stringify(call.json);
    const timeout = new AbortController();
    const timeoutMs = call.timeoutMs === undefined ? (this.#options.timeoutMs ?? defaultTimeoutMs) : call.timeoutMs;
    const timer = timeoutMs === null ? undefined : setTimeout(() => timeout.abort(), timeoutMs);
    const signal = call.signal === undefined ? timeout.signal : AbortSignal.any([timeout.signal, call.signal]);
    // Node keeps all of a streamed body in memory where it may have to be sent again.
    const streamed = body instanceof ReadableStream ? { duplex: "half", window: null } : {};
    let response: Response;
    try {
      // A redirect would take the key along, to whatever place it names.
      const init = { method, headers, signal, redirect: "error", ...streamed, ...(body === undefined ? {} : { body }) };
      response = await this.#fetch(this.#url(path, call.query), init as RequestInit);
    } catch (error) {
      if (call.signal?.aborted) throw call.signal.reason;
      if (timeout.signal.aborted) throw new TimeoutError(`no answer within ${timeoutMs} ms`, { cause: error });
      throw new ConnectionError(`cannot reach ${this.#base.origin}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
    if (!response.ok) throw await readProblem(response);
    return response;
  }
}

/** A call that was refused for now had no effect. One without an answer may have had: only what is safe is repeated then. */
function mayRepeat(error: unknown, isSafe: boolean): boolean {
  if (error instanceof ApiError) return error.status === 429 || (isSafe && error.status === 503);
  return isSafe && error instanceof ConnectionError && !(error instanceof TimeoutError);
}

function waitMs(error: unknown, tries: number): number {
  const asked = error instanceof ApiError ? error.retryAfterMs : undefined;
  return Math.min(asked ?? firstWaitMs * 4 ** tries, longestWaitMs);
}

function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted(); // one that has been aborted tells nobody again
    const leave = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", leave);
      resolve();
    }, ms);
    signal?.addEventListener("abort", leave, { once: true });
  });
}
