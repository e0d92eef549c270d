/** Fields of a request may repeat what its body says, and never decide (S130). */
import { PROTOCOL_VERSION_META_KEY } from "@modelcontextprotocol/server";
import { decodeField } from "./http-speech.ts";
import { metaOf, type Request } from "./message.ts";
import { named } from "./methods.ts";
import { RpcRefusal, rpcCodes } from "./rpc-error.ts";

const modernVersions: readonly string[] = ["2026-07-28"];

/** Refuses a request of 2026-07-28 whose fields say something else than its body. */
export function checkFields(message: Request, fields: Headers): void {
  const version = metaOf(message)[PROTOCOL_VERSION_META_KEY];
  const name = named(message);
  requireSame("MCP-Protocol-Version", fields, version);
  requireSame("Mcp-Method", fields, message.method);
  if (name !== undefined) requireSame("Mcp-Name", fields, name);
  if (typeof version === "string" && modernVersions.includes(version)) return;
  throw new RpcRefusal(rpcCodes.unsupportedVersion, "unsupported protocol version", {
    data: { supported: modernVersions, requested: version },
  });
}

function requireSame(field: string, fields: Headers, value: unknown): void {
  const given = fields.get(field);
  if (given !== null && decodeField(given.trim()) === value) return;
  throw new RpcRefusal(
    rpcCodes.headerMismatch,
    given === null ? `missing field ${field}` : `the field ${field} does not say what the body says`,
  );
}
