import {
  isInitializeRequest,
  type McpHandlerRequestOptions,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Caller } from "../core/principal.ts";
import { randomId } from "../core/random-id.ts";
import { toolLimits } from "../core/tool-limits.ts";

interface LegacySession {
  transport: WebStandardStreamableHTTPServerTransport;
  owner: string;
  usedAtMs: number;
}

const ownerOf = ({ principal }: Caller) => JSON.stringify([principal.id, principal.namespace]);

function refuse(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status });
}

/** Sessions of clients up to 2025-11-25. Each is its key's: for another key it does not exist. */
export class LegacySessions implements AsyncDisposable {
  readonly #build: (session: string) => McpServer;
  readonly #sessions = new Map<string, LegacySession>();

  constructor(build: (session: string) => McpServer) {
    this.#build = build;
  }

  async handle(request: Request, given: McpHandlerRequestOptions, caller: Caller): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) {
      if (isInitializeRequest(given.parsedBody)) return this.#open(request, given, ownerOf(caller));
      return refuse(400, -32_000, "this takes an Mcp-Session-Id; initialize gives one");
    }
    const session = this.#sessions.get(id);
    if (session === undefined || session.owner !== ownerOf(caller))
      return refuse(404, -32_001, "there is no such session; initialize opens another");
    session.usedAtMs = Date.now();
    return session.transport.handleRequest(request, given);
  }

  async #open(request: Request, given: McpHandlerRequestOptions, owner: string): Promise<Response> {
    this.#expire();
    const own = [...this.#sessions.values()].filter((session) => session.owner === owner).length;
    if (own >= toolLimits.sessionsPerKey || this.#sessions.size >= toolLimits.sessions)
      return refuse(429, -32_000, "too many sessions are open: end one with DELETE");
    const id = randomId(18, "base64url");
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => void this.#sessions.set(id, { transport, owner, usedAtMs: Date.now() }),
      onsessionclosed: () => void this.#sessions.delete(id),
      keepAliveMs: toolLimits.keepAliveMs,
    });
    await this.#build(`mcp-${id}`).connect(transport);
    return transport.handleRequest(request, given);
  }

  #expire(): void {
    const before = Date.now() - toolLimits.sessionIdleMs;
    for (const [id, { transport, usedAtMs }] of this.#sessions) {
      if (usedAtMs >= before) continue;
      this.#sessions.delete(id);
      void transport.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()));
    this.#sessions.clear();
  }
}
