import {
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  type McpRequestContext,
  type McpServer,
} from "@modelcontextprotocol/server";
import { type Caller, unattended } from "../core/principal.ts";
import { callerOf, toAuthInfo } from "../mcp-protocol/caller.ts";
import type { Changes } from "../mcp-protocol/changes.ts";
import { checkMessage } from "../mcp-protocol/check-message.ts";
import type { Follow } from "../mcp-protocol/follow-changes.ts";
import { LegacySessions } from "../mcp-protocol/legacy-sessions.ts";
import { mcpLimits } from "../mcp-protocol/limits.ts";
import { readListen } from "../mcp-protocol/listen.ts";
import { checkNames } from "../tools/call-tool.ts";
import { readToolSets } from "../tools/tool-sets.ts";
import { defaultSession } from "../tools/tools.ts";
import { buildServer, type ServerParts } from "./server.ts";

export interface EndpointParts extends ServerParts {
  changes: Changes;
  follow: Follow;
  /** Of clients that name none. */
  sets: readonly string[];
  /** A client's own session is over, and with it what it left behind. */
  endSession: (caller: Caller, session: string) => Promise<void>;
  onError: (error: unknown) => void;
}

/** An answer, and who is to be told when the last of it went out. */
interface Served {
  response: Response;
  done?: () => void;
}

/** `/mcp`: both eras of the protocol, told apart request by request. Who calls was settled before. */
export class McpEndpoint implements AsyncDisposable {
  readonly #parts: EndpointParts;
  readonly #modern: McpHttpHandler;
  readonly #serveModern: McpHttpHandler["fetch"];
  readonly #legacy: LegacySessions;

  constructor(parts: EndpointParts) {
    this.#parts = parts;
    const { keepAliveMs, listeners: maxSubscriptions } = mcpLimits;
    this.#modern = createMcpHandler(
      ({ requestInfo }) => this.#build(sessionIn(requestInfo) ?? defaultSession, requestInfo),
      {
        legacy: "reject",
        bus: parts.changes,
        keepAliveMs,
        maxSubscriptions,
      },
    );
    this.#serveModern = this.#modern.fetch;
    this.#legacy = new LegacySessions({
      ...parts,
      build: (id, request) => this.#build(sessionIn(request) ?? ownSession(id), request),
      endSession: (caller, id) => parts.endSession(caller, ownSession(id)),
    });
  }

  /** What fails before the protocol has its say is thrown. */
  async handle(request: Request, from: Caller, parsedBody: unknown): Promise<Served> {
    const caller = unattended(from); // a stream may break and be taken up again; each call of a tool has its own end
    const authInfo = toAuthInfo(caller);
    checkMessage(parsedBody, checkNames);
    this.#setsOf(request);
    if (await isLegacyRequest(request, parsedBody))
      return this.#legacy.handle(request, { authInfo, parsedBody }, caller);
    const { changes, follow } = this.#parts;
    const { body, end } = await readListen(parsedBody, caller, follow);
    const serve = () => this.#serveModern(request, { authInfo, parsedBody: body });
    try {
      return { response: await changes.as(caller.principal.namespace, serve), done: end };
    } catch (error) {
      end();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#modern.close();
    await this.#legacy[Symbol.asyncDispose]();
  }

  #build(session: string, request: McpRequestContext["requestInfo"]): McpServer {
    return buildServer(this.#parts, { caller: callerOf, session, sets: this.#setsOf(request) });
  }

  #setsOf(request: Request | undefined) {
    const named = request === undefined ? null : new URL(request.url).searchParams.get("tools");
    return readToolSets(named === null ? this.#parts.sets : named.split(","));
  }
}

/** A session that an older client has without naming one. */
const ownSession = (id: string) => `mcp-${id}`;

/** A session that the client names once, for calls that name none. */
function sessionIn(request: Request | undefined): string | undefined {
  return request === undefined ? undefined : (new URL(request.url).searchParams.get("session") ?? undefined);
}
