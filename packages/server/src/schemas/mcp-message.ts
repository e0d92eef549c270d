import { z } from "zod";
import { mcpLimits } from "../mcp-protocol/limits.ts";

const jsonrpc = z.literal("2.0");
const id = z.union([z.string(), z.number().int()]);
const method = z.string();

/** Any object. Its names may be many, so they are not copied here. */
const object = z
  .custom<object>((value) => typeof value === "object" && value !== null && !Array.isArray(value), "not an object")
  .meta({ type: "object" });

const params = object.optional();
const error = z.strictObject({ code: z.number().int(), message: z.string(), data: z.unknown().optional() });

/** JSON-RPC 2.0: a request, a notification, or an answer to a request of the server's. */
const message = z.union([
  z.strictObject({ jsonrpc, id, method, params }),
  z.strictObject({ jsonrpc, method, params }),
  z.strictObject({ jsonrpc, id, result: object }),
  z.strictObject({ jsonrpc, id: id.nullable().optional(), error }),
]);

/** One message for a hosted server, which takes no batches. */
export const hostedMessage = message.meta({
  id: "HostedMessage",
  examples: [{ jsonrpc: "2.0", id: 1, method: "tools/list" }],
});

export const mcpMessage = z
  .union([message, z.array(message).min(1).max(mcpLimits.batch)], "not a message of JSON-RPC 2.0")
  .meta({ id: "McpMessage", examples: [{ jsonrpc: "2.0", id: 1, method: "tools/list" }] });
