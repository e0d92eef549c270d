import { randomBytes } from "node:crypto";
import { createRequestStateCodec } from "@modelcontextprotocol/server";
import { z } from "zod";
import { AppError } from "../../packages/server/src/core/errors.ts";
import { mcpRoutes } from "../../packages/server/src/http/mcp.ts";
import type { Route } from "../../packages/server/src/http/route.ts";
import { McpEndpoint } from "../../packages/server/src/mcp/endpoint.ts";
import { Changes } from "../../packages/server/src/mcp-protocol/changes.ts";
import type { Era } from "../mcp/client.ts";
import { fixtureQuestions } from "../mcp/conformance/questions.ts";
import { fixtureTools } from "../mcp/conformance/tools.ts";

/** Methods that reached the endpoint, in their order. */
export type Seen = string[];

/** Id of a server that does not start. */
export const downServer = "f".repeat(16);

/** An endpoint like that of a hosted server, which speaks one era of the protocol and refuses clients of the other. */
export function serverEndpoint(era: Era, seen: Seen): Route[] {
  const changes = new Changes();
  const seal = createRequestStateCodec({ key: randomBytes(32) });
  const endpoint = new McpEndpoint({
    version: "0.0.0",
    offers: [fixtureTools(changes), fixtureQuestions(seal)],
    verify: seal.verify,
    changes,
    follow: async () => () => undefined,
    sets: ["core"],
    endSession: async () => undefined,
    onError: (error) => {
      throw error;
    },
  });
  const handle: McpEndpoint["handle"] = async (request, caller, body) => {
    const { method, id } = (body ?? {}) as { method?: string; id?: number };
    if (method !== undefined) seen.push(method);
    if (request.url.includes(downServer)) throw new AppError("unavailable", "the server does not start");
    if (era === "2026-07-28" && method === "initialize") {
      const error = { code: -32_022, message: "this server speaks 2026-07-28" };
      return { response: Response.json({ jsonrpc: "2.0", id, error }, { status: 400 }) };
    }
    return endpoint.handle(request, caller, body);
  };
  const params = z.strictObject({ id: z.string() });
  return mcpRoutes({ handle }).map((route) => ({ ...route, path: "/sandbox/{id}/mcp", params }) as Route);
}
