import type { Line } from "./scripted.ts";

interface Answer {
  status: number;
  headers: Headers;
  /** Messages of the body, in order. */
  messages: Line[];
  text: string;
}

/** Text of a tool's result. */
export function textOf({ result }: Line): string {
  const [first] = (result?.content ?? []) as { text: string }[];
  return first?.text ?? "";
}

/** Sends what no library would. */
export class RawClient {
  readonly #url: URL;
  readonly #fields: Readonly<Record<string, string>>;

  constructor(url: URL, fields: Record<string, string>) {
    this.#url = url;
    this.#fields = fields;
  }

  with(fields: Record<string, string>): RawClient {
    return new RawClient(this.#url, { ...this.#fields, ...fields });
  }

  async post(body: unknown, fields: Record<string, string> = {}): Promise<Answer> {
    const accept = "application/json, text/event-stream";
    const response = await fetch(this.#url, {
      method: "POST",
      headers: { "content-type": "application/json", accept, ...this.#fields, ...fields },
      body: typeof body === "string" || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, messages: messagesOf(text), text };
  }

  listen(signal: AbortSignal, fields: Record<string, string> = {}): Promise<Response> {
    return fetch(this.#url, { headers: { accept: "text/event-stream", ...this.#fields, ...fields }, signal });
  }

  /** Opens a session (2025-11-25). */
  async open(capabilities: object = {}): Promise<RawClient> {
    const clientInfo = { name: "raw", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities, clientInfo };
    const { headers, messages } = await this.post({ jsonrpc: "2.0", id: 0, method: "initialize", params });
    const id = headers.get("mcp-session-id");
    if (id === null || messages[0]?.result === undefined) throw new Error(JSON.stringify(messages));
    const session = this.with({ "mcp-session-id": id });
    await session.post({ jsonrpc: "2.0", method: "notifications/initialized" });
    return session;
  }

  /** The last message of the answer to a call. */
  async call(name: string, given: object = {}, id: unknown = 7): Promise<Line> {
    const params = { name, arguments: given };
    const { messages } = await this.post({ jsonrpc: "2.0", id, method: "tools/call", params });
    return messages.at(-1) ?? {};
  }
}

function messagesOf(text: string): Line[] {
  if (text === "") return [];
  if (text.startsWith("{")) return [JSON.parse(text)];
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, line]) => JSON.parse(line ?? ""));
}

/** A request of 2026-07-28 with the fields that belong to it. */
export function modern(method: string, params: Record<string, unknown> = {}, name?: string) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
  };
  const fields: Record<string, string> = { "mcp-protocol-version": "2026-07-28", "mcp-method": method };
  if (name !== undefined) fields["mcp-name"] = name;
  return { body: { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }, fields };
}
