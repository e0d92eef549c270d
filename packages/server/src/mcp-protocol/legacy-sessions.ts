import {
  isInitializeRequest,
  type McpHandlerRequestOptions,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Caller } from "../core/principal.ts";
import { randomId } from "../lib/random-id.ts";
import { ownerOf } from "./caller.ts";
import type { Changes } from "./changes.ts";
import { EventBudget } from "./event-budget.ts";
import { SessionEvents } from "./event-store.ts";
import { type Follow, followChanges, takeSubscriptions } from "./follow-changes.ts";
import { mcpLimits } from "./limits.ts";

interface LegacyParts {
  build: (id: string, request: Request) => McpServer;
  changes: Changes;
  follow: Follow;
  /** A session is over, and with it what it left behind. */
  endSession: (caller: Caller, id: string) => Promise<void>;
  onError: (error: unknown) => void;
  /** How long a session lives that nobody uses. */
  idleMs?: number;
}

interface LegacySession {
  transport: WebStandardStreamableHTTPServerTransport;
  caller: Caller;
  /** Requests under way and streams that are open. */
  inUse: number;
  usedAtMs: number;
  close(): Promise<void>;
}

function refuse(status: number, code: number, message: string): { response: Response } {
  return { response: Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status }) };
}

/** Sessions of clients up to 2025-11-25. Each is its key's: for another key it does not exist. */
export class LegacySessions implements AsyncDisposable {
  readonly #parts: LegacyParts;
  readonly #sessions = new Map<string, LegacySession>();
  readonly #budget = new EventBudget();
  readonly #expiring: NodeJS.Timeout;

  constructor(parts: LegacyParts) {
    this.#parts = parts;
    this.#expiring = setInterval(() => this.expire(), mcpLimits.expireEveryMs).unref();
  }

  async handle(
    request: Request,
    given: McpHandlerRequestOptions,
    caller: Caller,
  ): Promise<{ response: Response; done?: () => void }> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) {
      if (isInitializeRequest(given.parsedBody)) return this.#open(request, given, caller);
      return refuse(400, -32_000, "this takes an Mcp-Session-Id; initialize gives one");
    }
    const session = this.#sessions.get(id);
    if (session === undefined || ownerOf(session.caller) !== ownerOf(caller))
      return refuse(404, -32_001, "unknown session; send initialize to open a new one");
    session.inUse += 1;
    const done = () => {
      session.inUse -= 1;
      session.usedAtMs = Date.now();
    };
    try {
      return { response: await session.transport.handleRequest(request, given), done };
    } catch (error) {
      done();
      throw error;
    }
  }

  /** Ends those that nobody has used for long. */
  expire(): void {
    const before = Date.now() - (this.#parts.idleMs ?? mcpLimits.sessionIdleMs);
    for (const [id, { inUse, usedAtMs }] of this.#sessions)
      if (inUse === 0 && usedAtMs < before) this.#end(id).catch(this.#parts.onError);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#expiring);
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
  }

  async #open(request: Request, given: McpHandlerRequestOptions, caller: Caller): Promise<{ response: Response }> {
    this.expire();
    const owner = ownerOf(caller);
    const own = [...this.#sessions.values()].filter((session) => ownerOf(session.caller) === owner).length;
    if (own >= mcpLimits.sessionsPerKey || this.#sessions.size >= mcpLimits.sessions)
      return refuse(429, -32_000, "too many sessions are open: end one with DELETE");
    const id = randomId(18, "base64url");
    const events = new SessionEvents(this.#budget, owner);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessionclosed: () => this.#end(id),
      eventStore: events,
      retryInterval: mcpLimits.retryMs,
      keepAliveMs: mcpLimits.keepAliveMs,
    });
    const server = this.#parts.build(id, request);
    const uris = takeSubscriptions(server, caller, this.#parts.follow);
    const unfollow = followChanges(server, this.#parts.changes, caller.principal.namespace, (uri) => uris.has(uri));
    const close = async () => {
      this.#sessions.delete(id);
      unfollow();
      uris[Symbol.dispose]();
      events[Symbol.dispose]();
      await server.close();
    };
    this.#sessions.set(id, { transport, caller, inUse: 0, usedAtMs: Date.now(), close });
    await server.connect(transport);
    const response = await transport.handleRequest(request, given);
    if (!response.ok) await close(); // a handshake that was refused opens nothing
    return { response };
  }

  async #end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    await session.close();
    await this.#parts.endSession(session.caller, id);
  }
}
