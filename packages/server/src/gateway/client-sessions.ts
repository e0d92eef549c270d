import { hash } from "node:crypto";
import { isInitializeRequest } from "@modelcontextprotocol/server";
import type { Caller } from "../core/principal.ts";
import type { ServerRecord } from "../core/server.ts";
import type { LinkFor } from "../core/server-link.ts";
import { randomId } from "../lib/random-id.ts";
import { EventBudget } from "../mcp-protocol/event-budget.ts";
import { SessionEvents } from "../mcp-protocol/event-store.ts";
import { ClientSession, type SessionStart } from "./client-session.ts";
import { requireEra } from "./era.ts";
import type { GatewayParts } from "./gateway-parts.ts";
import { gatewayLimits } from "./limits.ts";
import { isRecord, type Params } from "./message.ts";
import type { OpenListeners } from "./open-listeners.ts";
import { ownerOf, releaseOf, type Served, serve } from "./owner.ts";

interface Entry {
  session: ClientSession;
  owner: string;
  inUse: number;
  usedAtMs: number;
}

function answer(status: number, code: number, message: string): Served {
  return { response: Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status }) };
}

/** Sessions of clients up to 2025-11-25. Each belongs to one key with its scopes and to one server: to all others it does not exist (S135). */
export class ClientSessions implements AsyncDisposable {
  readonly #parts: GatewayParts;
  readonly #listeners: OpenListeners;
  readonly #sessions = new Map<string, Entry>();
  readonly #budget = new EventBudget();
  readonly #expiring: NodeJS.Timeout;

  constructor(parts: GatewayParts, listeners: OpenListeners) {
    this.#parts = parts;
    this.#listeners = listeners;
    this.#expiring = setInterval(() => this.#expire(), gatewayLimits.expireEveryMs).unref();
  }

  async handle(request: Request, body: unknown, caller: Caller, server: ServerRecord): Promise<Served> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) {
      if (isInitializeRequest(body)) return this.#open(request, body, caller, server);
      return answer(400, -32_000, "this takes an Mcp-Session-Id; initialize returns one");
    }
    const entry = this.#sessions.get(id);
    if (entry?.owner !== ownerOf(caller, server))
      return answer(404, -32_001, "unknown session; send initialize to open a new one");
    const leave = request.method === "GET" ? this.#listeners.enter(caller) : undefined;
    entry.inUse += 1;
    const done = () => {
      entry.inUse -= 1;
      entry.usedAtMs = Date.now();
      leave?.();
    };
    return serve(() => entry.session.handle(request, caller, body), done);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#expiring);
    await Promise.all([...this.#sessions.values()].map(({ session }) => session.close()));
  }

  async #open(request: Request, body: { params?: unknown }, caller: Caller, server: ServerRecord): Promise<Served> {
    this.#expire();
    const owner = ownerOf(caller, server);
    const own = [...this.#sessions.values()].filter((entry) => entry.session.principal === caller.principal.id).length;
    if (own >= gatewayLimits.sessionsPerKey || this.#sessions.size >= gatewayLimits.sessions)
      return answer(429, -32_000, "too many sessions are open: end one with DELETE");
    const params = isRecord(body.params) ? body.params : {};
    const who = whoIs(caller, params);
    requireEra(this.#parts.pool.contactOf(server.id), "legacy", params.protocolVersion); // before it is started
    const link = await this.#parts.pool.connect(caller, server.id, who, request.signal);
    const release = releaseOf(link);
    try {
      requireEra(link.contact, "legacy", params.protocolVersion);
      return await this.#begin(request, body, caller, { server, who, link, release, owner });
    } catch (error) {
      release();
      throw error;
    }
  }

  async #begin(
    request: Request,
    body: unknown,
    caller: Caller,
    { owner, ...start }: Pick<SessionStart, "server" | "who" | "link" | "release"> & { owner: string },
  ): Promise<Served> {
    const id = randomId(24, "base64url");
    const session = new ClientSession(this.#parts, caller, {
      ...start,
      id,
      label: hash("sha256", id).slice(0, 12),
      events: new SessionEvents(this.#budget, owner),
      ended: () => void this.#sessions.delete(id),
    });
    this.#sessions.set(id, { session, owner, inUse: 0, usedAtMs: Date.now() });
    const response = await session.handle(request, caller, body);
    if (!response.ok) {
      start.release();
      await session.close(); // a handshake that was refused opens nothing
    }
    return { response };
  }

  /** Ends those that nobody has used for long. */
  #expire(): void {
    const before = Date.now() - gatewayLimits.sessionIdleMs;
    for (const { session, inUse, usedAtMs } of this.#sessions.values())
      if (inUse === 0 && usedAtMs < before) session.close().catch(this.#parts.onError);
  }
}

/** Clients that declare other things get another instance of a server over stdio: it answers them differently. */
function whoIs({ principal }: Caller, { capabilities, protocolVersion }: Params): LinkFor {
  return { principal: principal.id, capabilities: hash("sha256", JSON.stringify([protocolVersion, capabilities])) };
}
