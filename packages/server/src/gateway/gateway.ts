/** `/sandbox/{server-id}/mcp`: relays messages between clients and hosted servers of the same era. */
import { classifyInboundRequest } from "@modelcontextprotocol/server";
import { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";
import { mayReachServer } from "../core/scope.ts";
import type { ServerRecord } from "../core/server.ts";
import { defined } from "../lib/defined.ts";
import { checkFields } from "./check-fields.ts";
import { ClientSessions } from "./client-sessions.ts";
import { toMessage } from "./decode.ts";
import type { GatewayParts } from "./gateway-parts.ts";
import { type Id, isRequest, type Message } from "./message.ts";
import { ModernExchange } from "./modern-exchange.ts";
import { OpenListeners } from "./open-listeners.ts";
import { type Served, serve } from "./owner.ts";
import { RpcRefusal, rpcCodes, toFailure } from "./rpc-error.ts";
import { Wakes } from "./wakes.ts";

export class Gateway implements AsyncDisposable {
  readonly #parts: GatewayParts & { wakes: Wakes };
  readonly #listeners = new OpenListeners();
  readonly #sessions: ClientSessions;

  constructor(parts: GatewayParts) {
    this.#parts = { ...parts, wakes: new Wakes() };
    this.#sessions = new ClientSessions(parts, this.#listeners);
  }

  /** Handles one HTTP request of an authenticated caller. What has no answer of the protocol's own is thrown. */
  async handle(serverId: string, request: Request, caller: Caller, body: unknown): Promise<Served> {
    const server = this.#serverOf(caller, serverId);
    const id = idOf(body);
    try {
      if (request.method !== "POST") return await this.#sessions.handle(request, undefined, caller, server);
      const message = toMessage(body);
      return await this.#post(request, message, caller, server);
    } catch (error) {
      if (error instanceof RpcRefusal) return { response: refusal(error, id) };
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sessions[Symbol.asyncDispose]();
  }

  #serverOf(caller: Caller, id: string): ServerRecord {
    const server = this.#parts.pool.find(caller, id);
    if (server === undefined) throw new AppError("not_found", `no hosted server ${JSON.stringify(id)}`);
    if (mayReachServer(caller.principal, server.id)) return server;
    throw new AppError("forbidden", "this key may not connect to this server", {
      hint: `use a key with the scope server:${server.id}, or one without scopes and the role agent`,
    });
  }

  async #post(request: Request, message: Message, caller: Caller, server: ServerRecord): Promise<Served> {
    const { headers } = request;
    const fields = {
      protocolVersionHeader: headers.get("mcp-protocol-version") ?? undefined,
      mcpMethodHeader: headers.get("mcp-method") ?? undefined,
      mcpNameHeader: headers.get("mcp-name") ?? undefined,
    };
    const found = classifyInboundRequest({ httpMethod: "POST", ...defined(fields), body: message });
    if (found.kind === "reject") {
      const error = { code: found.code, message: found.message, data: found.data };
      return { response: Response.json({ jsonrpc: "2.0", id: idOf(message), error }, { status: found.httpStatus }) };
    }
    if (found.kind === "legacy") return this.#sessions.handle(request, message, caller, server);
    if (!isRequest(message)) return { response: new Response(null, { status: 202 }) }; // this version has none that pass
    checkFields(message, request.headers);
    const leave = message.method === "subscriptions/listen" ? this.#listeners.enter(caller) : () => undefined;
    const { classification } = found;
    const exchange = new ModernExchange(this.#parts, { request, message, classification, caller, server });
    return serve(() => exchange.answer(), leave);
  }
}

function idOf(body: unknown): Id | null {
  const { id } = (body ?? {}) as { id?: unknown };
  return typeof id === "string" || typeof id === "number" ? id : null;
}

function refusal(error: RpcRefusal, id: Id | null): Response {
  const status = error.rpcCode === rpcCodes.methodNotFound ? 404 : 400;
  return Response.json({ ...toFailure(0, error), id }, { status });
}
