import { createMcpHandler, isLegacyRequest, type McpHttpHandler } from "@modelcontextprotocol/server";
import type { Caller } from "../core/principal.ts";
import { toolLimits } from "../core/tool-limits.ts";
import { defaultSession } from "../tools/tools.ts";
import { callerOf, toAuthInfo } from "./caller.ts";
import { LegacySessions } from "./legacy-sessions.ts";
import { buildServer, type McpParts } from "./server.ts";

/** `/mcp`: both eras of the protocol, told apart request by request. Who calls was settled before. */
export class McpEndpoint implements AsyncDisposable {
  readonly #modern: McpHttpHandler;
  readonly #serveModern: McpHttpHandler["fetch"];
  readonly #legacy: LegacySessions;

  constructor(parts: McpParts) {
    const { keepAliveMs, subscriptions: maxSubscriptions } = toolLimits;
    this.#modern = createMcpHandler(() => buildServer(parts, { caller: callerOf, session: defaultSession }), {
      legacy: "reject",
      keepAliveMs,
      maxSubscriptions,
    });
    this.#serveModern = this.#modern.fetch;
    this.#legacy = new LegacySessions((session) => buildServer(parts, { caller: callerOf, session }));
  }

  async handle(request: Request, caller: Caller, parsedBody: unknown): Promise<Response> {
    const given = { authInfo: toAuthInfo(caller), parsedBody };
    return (await isLegacyRequest(request, parsedBody))
      ? this.#legacy.handle(request, given, caller)
      : this.#serveModern(request, given);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#modern.close();
    await this.#legacy[Symbol.asyncDispose]();
  }
}
