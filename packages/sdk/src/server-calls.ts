import { ApiError, CaissonError, type Problem } from "./error.ts";
import { McpConnection } from "./mcp.ts";
import { type RpcMessage, versionKey } from "./mcp-message.ts";
import type { Transport } from "./transport.ts";

/** A tool as the server lists it. Its text is the server's: show it as that of a stranger. */
export interface ServerTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
}

export interface ServerToolResult {
  content: ({ type: string } & Record<string, unknown>)[];
  structuredContent?: unknown;
  /** True: the tool itself reports an error. */
  isError?: boolean;
}

interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

const client = { name: "caisson", version: "1" };
const legacyVersion = "2025-11-25";
const modernVersion = "2026-07-28";
/** Pages of a list; a server that has more does not end. */
const mostPages = 100;
const methodNotFound = -32_601;
/** Answers to a handshake by servers that know none: the version is not supported, or the method. */
const otherEra: readonly number[] = [-32_022, methodNotFound];

/** Speaks to a hosted server for the time of `act`. */
export async function withServer<T>(
  transport: Transport,
  id: string,
  { signal }: { signal?: AbortSignal },
  act: (session: ServerSession) => Promise<T>,
): Promise<T> {
  const session = new ServerSession(transport, id);
  const leave = () => void session[Symbol.asyncDispose]();
  signal?.throwIfAborted();
  signal?.addEventListener("abort", leave, { once: true });
  try {
    await session.open();
    return await act(session);
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  } finally {
    signal?.removeEventListener("abort", leave);
    await session[Symbol.asyncDispose]();
  }
}

/** A client of one server, in the era of the protocol that the server speaks. It offers the server nothing: no sampling, no roots, no questions. */
class ServerSession implements AsyncDisposable {
  readonly #connection: McpConnection;
  readonly #answers = new Map<string | number, RpcMessage>();
  #next = 1;
  #meta: Record<string, unknown> | undefined;

  constructor(transport: Transport, id: string) {
    const receive = (message: RpcMessage) => this.#receive(message);
    this.#connection = new McpConnection(transport, { path: `/sandbox/${encodeURIComponent(id)}/mcp`, receive });
  }

  /** Finds out the era by a handshake, which has no effect, so that no call is ever sent twice. */
  async open(): Promise<void> {
    const handshake = { protocolVersion: legacyVersion, capabilities: {}, clientInfo: client };
    const { error } = await this.#ask("initialize", handshake);
    if (error === undefined) return this.#connection.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    if (!otherEra.includes(error.code)) throw toError(error);
    const about = "io.modelcontextprotocol";
    this.#meta = { [versionKey]: modernVersion, [`${about}/clientCapabilities`]: {}, [`${about}/clientInfo`]: client };
  }

  async tools(): Promise<ServerTool[]> {
    const found: ServerTool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < mostPages; page++) {
      const result = await this.#request("tools/list", cursor === undefined ? {} : { cursor });
      found.push(...((result.tools ?? []) as ServerTool[]));
      cursor = result.nextCursor as string | undefined;
      if (cursor === undefined) return found;
    }
    throw new CaissonError("the server's list of tools does not end");
  }

  async call(name: string, input: Readonly<Record<string, unknown>>): Promise<ServerToolResult> {
    const { resultType, ...result } = await this.#request("tools/call", { name, arguments: input });
    if (resultType === "input_required")
      throw new CaissonError(`the tool ${name} asks its user a question: call it from an MCP client that can answer`);
    return result as unknown as ServerToolResult;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#connection.close();
  }

  async #request(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
    const { result, error } = await this.#ask(method, params);
    if (error !== undefined) throw toError(error);
    return (result ?? {}) as Record<string, unknown>;
  }

  async #ask(method: string, params: Record<string, unknown>): Promise<{ result?: unknown; error?: RpcError }> {
    const id = this.#next++;
    const meta = this.#meta === undefined ? {} : { _meta: this.#meta };
    await this.#connection.send({ jsonrpc: "2.0", id, method, params: { ...params, ...meta } });
    const answer = this.#answers.get(id);
    this.#answers.delete(id);
    if (answer === undefined) throw new CaissonError(`the server did not answer ${method}`);
    return answer as { result?: unknown; error?: RpcError };
  }

  /** A request of the server itself is refused, or it would wait. */
  #receive(message: RpcMessage): void {
    const { id, method } = message;
    if (id === undefined || id === null) return;
    if (method === undefined) return void this.#answers.set(id, message);
    const error = { code: methodNotFound, message: `this client does not answer ${method}` };
    this.#connection.send({ jsonrpc: "2.0", id, error }).catch(() => undefined); // the session may be over
  }
}

/** The daemon's own refusal, if the error is one. */
function problemOf({ data }: RpcError): Problem | undefined {
  const { code, status } = (data ?? {}) as Partial<Problem>;
  return typeof code === "string" && typeof status === "number" ? (data as Problem) : undefined;
}

function toError(error: RpcError): CaissonError {
  const problem = problemOf(error);
  if (problem !== undefined) return new ApiError({ ...problem, detail: problem.detail ?? error.message });
  return new CaissonError(`${error.message} (${error.code})`);
}
