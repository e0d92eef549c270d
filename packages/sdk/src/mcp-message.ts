/** A message of JSON-RPC 2.0, of whatever kind. */
export interface RpcMessage {
  jsonrpc: "2.0";
  id?: string | number | null;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: unknown;
}

/** Key of the protocol revision in the `_meta` of a message. */
export const versionKey = "io.modelcontextprotocol/protocolVersion";

export function methodOf({ method }: RpcMessage): string | undefined {
  return typeof method === "string" ? method : undefined;
}

/** Returns the id of a request; undefined for other messages. */
export function requestIdOf({ id, method }: RpcMessage): string | number | undefined {
  return method === undefined || id === null ? undefined : id;
}

function versionOf({ params }: RpcMessage): string | undefined {
  const meta = params?._meta as Record<string, unknown> | undefined;
  const version = meta?.[versionKey];
  return typeof version === "string" ? version : undefined;
}

/** True when the message names its protocol revision, as messages do since 2026-07-28. */
export function isModern(message: RpcMessage): boolean {
  return versionOf(message) !== undefined;
}

/** Returns the headers that repeat parts of such a message, so that proxies need not read it. */
export function modernHeaders(message: RpcMessage): Record<string, string> {
  const method = methodOf(message) ?? "";
  const name = method === "resources/read" ? message.params?.uri : message.params?.name;
  const named = ["tools/call", "prompts/get", "resources/read"].includes(method) && typeof name === "string";
  return {
    "mcp-protocol-version": versionOf(message) ?? "",
    "mcp-method": method,
    ...(named ? { "mcp-name": headerValue(name) } : {}),
  };
}

/** Printable ASCII as it is, anything else in Base64. */
function headerValue(text: string): string {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?")) return text;
  const bytes = new TextEncoder().encode(text);
  return `=?base64?${btoa(String.fromCharCode(...bytes))}?=`;
}
