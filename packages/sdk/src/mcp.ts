import { ConnectionError } from "./error.ts";
import { isModern, methodOf, modernHeaders, type RpcMessage, requestIdOf } from "./mcp-message.ts";
import { readSse } from "./sse.ts";
import type { Transport } from "./transport.ts";

export interface McpOptions {
  /** Path of the endpoint, such as that of a hosted server. Default: the daemon's own. */
  path?: string;
  /** Sets of tools, as `core,files`; the daemon's choice unless given. */
  tools?: string;
  /** The session that calls without one work in, for clients of 2026-07-28. */
  session?: string;
  /** Takes what the daemon says; the next waits until it is taken. */
  receive: (message: RpcMessage) => void | Promise<void>;
}

interface UnderWay {
  leaving: AbortController;
  /** The daemon has it. */
  begun: PromiseWithResolvers<void>;
}

/** How far a stream was read, and when to come back for the rest. */
interface Seen {
  lastId?: string;
  retryMs: number;
}

const longestWaitMs = 10_000;
const firstRetryMs = 1_000;
const most = 5;

/**
 * The daemon's `/mcp`, message by message and in both eras of the protocol: for programs that speak it themselves over
 * something else, as `caisson mcp` does over standard input and output.
 */
export class McpConnection implements AsyncDisposable {
  readonly #transport: Transport;
  readonly #options: McpOptions;
  readonly #underWay = new Map<string | number, UnderWay>();
  readonly #closing = new AbortController();
  #sessionId: string | undefined;
  #version: string | undefined;

  constructor(transport: Transport, options: McpOptions) {
    this.#transport = transport;
    this.#options = options;
  }

  /** Resolves when it is answered to the end, or taken. What cannot be delivered is answered with an error. */
  async send(message: RpcMessage): Promise<void> {
    const method = methodOf(message);
    if (method === "notifications/cancelled") return this.#cancel(message);
    const id = requestIdOf(message);
    const own = { leaving: new AbortController(), begun: Promise.withResolvers<void>() };
    if (id !== undefined) this.#underWay.set(id, own);
    const signal = AbortSignal.any([own.leaving.signal, this.#closing.signal]);
    try {
      await this.#exchange(message, signal, own.begun.resolve);
    } catch (error) {
      if (!signal.aborted) await this.#fail(id, error);
    } finally {
      own.begun.resolve();
      if (id !== undefined) this.#underWay.delete(id);
    }
    if (method === "notifications/initialized" && this.#sessionId !== undefined) void this.#listen();
  }

  /** Since 2026-07-28 to leave is to cancel; before, the daemon is told. Either way nobody waits for the answer. */
  async #cancel(message: RpcMessage): Promise<void> {
    const cancelled = this.#underWay.get(message.params?.requestId as string | number);
    if (cancelled === undefined) return;
    try {
      if (this.#sessionId === undefined) return;
      await cancelled.begun.promise; // or the daemon would be told before it knows what of
      await this.#exchange(message, this.#closing.signal);
    } catch {
      // a daemon that is gone runs nothing
    } finally {
      cancelled.leaving.abort();
    }
  }

  /** Ends a session that it opened, with its sandbox. */
  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#sessionId === undefined) return;
    const headers = this.#sessionHeaders();
    this.#sessionId = undefined;
    const response = await this.#transport.raw(this.#path(false), { method: "DELETE", headers }).catch(() => undefined);
    await response?.body?.cancel();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #exchange(message: RpcMessage, signal: AbortSignal, begun?: () => void): Promise<void> {
    const modern = isModern(message);
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(modern ? modernHeaders(message) : this.#sessionHeaders()),
    };
    const init = { method: "POST", headers, body: JSON.stringify(message), signal };
    const response = await this.#transport.raw(this.#path(modern), init);
    begun?.();
    if (methodOf(message) === "initialize") this.#sessionId = response.headers.get("mcp-session-id") ?? undefined;
    await this.#read(message, response, signal);
  }

  /** One that is read to its end without the answer goes on where it broke off, where the daemon keeps that. */
  async #read(message: RpcMessage, response: Response, signal: AbortSignal): Promise<void> {
    const id = requestIdOf(message);
    if (!isStream(response)) return this.#readWhole(id, response);
    const seen: Seen = { retryMs: firstRetryMs };
    for (let tries = 0, stream = response; ; tries++) {
      const answered = await this.#pass(stream, id, seen);
      if (answered || signal.aborted || id === undefined) return;
      if (seen.lastId === undefined || this.#sessionId === undefined || tries >= most)
        throw new ConnectionError("the stream broke off");
      await pause(seen.retryMs, signal);
      stream = await this.#resume(seen.lastId, signal);
      if (!isStream(stream)) throw new ConnectionError("the stream broke off");
    }
  }

  async #readWhole(id: string | number | undefined, response: Response): Promise<void> {
    const text = await response.text();
    if (text === "") return;
    const told = JSON.parse(text) as RpcMessage;
    // What the door refuses before it knows the message is about this one.
    if (id !== undefined && "error" in told && told.id === null) await this.#receive({ ...told, id });
    else if (id !== undefined || "method" in told) await this.#receive(told);
  }

  /** Passes on the messages of a response. True when the answer was among them. */
  async #pass(response: Response, id: string | number | undefined, seen: Seen): Promise<boolean> {
    if (response.body === null) return false;
    try {
      for await (const event of readSse(response.body)) {
        if (event.id !== undefined) seen.lastId = event.id;
        seen.retryMs = Math.min(event.retryMs ?? seen.retryMs, longestWaitMs);
        if (event.data === "") continue;
        const told = JSON.parse(event.data) as RpcMessage;
        await this.#receive(told);
        if (!("method" in told) && told.id === id) return true;
      }
    } catch {
      // it broke off, and is resumed where that is possible
    }
    return false;
  }

  /** Receives the daemon's own messages, for as long as the session lives (2025-11-25). */
  async #listen(): Promise<void> {
    const { signal } = this.#closing;
    const seen: Seen = { retryMs: firstRetryMs };
    while (!signal.aborted && this.#sessionId !== undefined) {
      const response = await this.#resume(seen.lastId, signal).catch(() => undefined);
      if (response !== undefined && isStream(response)) await this.#pass(response, undefined, seen);
      else if (response !== undefined && response.status < 500) return; // the session is over, or nothing is told
      await pause(seen.retryMs, signal);
    }
  }

  #resume(lastId: string | undefined, signal: AbortSignal): Promise<Response> {
    const resumed = lastId === undefined ? {} : { "last-event-id": lastId };
    const headers = { accept: "text/event-stream", ...this.#sessionHeaders(), ...resumed };
    return this.#transport.raw(this.#path(false), { method: "GET", headers, signal });
  }

  async #receive(message: RpcMessage): Promise<void> {
    const { protocolVersion } = (message.result ?? {}) as { protocolVersion?: unknown };
    if (typeof protocolVersion === "string") this.#version = protocolVersion;
    await this.#options.receive(message);
  }

  async #fail(id: string | number | undefined, error: unknown): Promise<void> {
    if (id === undefined) return;
    const why = error instanceof Error ? error.message : String(error);
    const told = { code: -32_603, message: `the daemon did not answer: ${why}` };
    await this.#options.receive({ jsonrpc: "2.0", id, error: told });
  }

  #sessionHeaders(): Record<string, string> {
    return {
      ...(this.#sessionId === undefined ? {} : { "mcp-session-id": this.#sessionId }),
      ...(this.#version === undefined ? {} : { "mcp-protocol-version": this.#version }),
    };
  }

  #path(modern: boolean): string {
    const query = new URLSearchParams();
    if (this.#options.tools !== undefined) query.set("tools", this.#options.tools);
    if (modern && this.#options.session !== undefined) query.set("session", this.#options.session);
    const { path = "/mcp" } = this.#options;
    return query.size === 0 ? path : `${path}?${query}`;
  }
}

function isStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") === true;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
  });
}
