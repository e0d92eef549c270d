/** One request of a client of 2026-07-28: it has no session, and ends with its answer or with its connection. */
import { hash } from "node:crypto";
import {
  CLIENT_CAPABILITIES_META_KEY,
  type MessageClassification,
  PerRequestHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { AppError } from "../core/errors.ts";
import { type Caller, unattended } from "../core/principal.ts";
import type { ServerRecord } from "../core/server.ts";
import type { LinkFor, ServerLink } from "../core/server-link.ts";
import { Turn } from "../lib/turn.ts";
import { mcpLimits } from "../mcp-protocol/limits.ts";
import { requireEra } from "./era.ts";
import type { GatewayParts } from "./gateway-parts.ts";
import { gatewayLimits } from "./limits.ts";
import { type Answer, forLibrary, type Message, metaOf, type Notification, type Request, withMeta } from "./message.ts";
import { releaseOf } from "./owner.ts";
import { rpcCodes, toFailure } from "./rpc-error.ts";
import { type CallContext, judge } from "./stage.ts";
import type { ToolHeaders } from "./tool-headers.ts";
import type { Peer, Upstream } from "./upstream.ts";
import type { ModernUpstream } from "./upstreams.ts";
import type { Wakes } from "./wakes.ts";

interface Asked {
  request: globalThis.Request;
  message: Request;
  classification: MessageClassification;
  caller: Caller;
  server: ServerRecord;
}

const acknowledged = "notifications/subscriptions/acknowledged";

export class ModernExchange implements Peer {
  readonly #parts: GatewayParts & { wakes: Wakes };
  readonly #asked: Asked;
  readonly #transport: PerRequestHTTPServerTransport;
  readonly #gone = new AbortController();
  readonly #out = new Turn();
  readonly #context: CallContext;
  #waiting = 0;
  #status = 200;
  /** Ends the lease of a stream as soon as the server has answered it. */
  #heard: (() => void) | undefined;
  #isAcknowledged = false;

  constructor(parts: GatewayParts & { wakes: Wakes }, asked: Asked) {
    this.#parts = parts;
    this.#asked = asked;
    this.#context = { caller: unattended(asked.caller), server: asked.server, era: "modern" };
    this.#transport = new PerRequestHTTPServerTransport({
      classification: asked.classification,
      responseMode: asked.message.method === "subscriptions/listen" ? "sse" : "auto",
      keepAliveMs: mcpLimits.keepAliveMs,
    });
  }

  async answer(): Promise<Response> {
    const { message, request } = this.#asked;
    await this.#transport.start();
    this.#transport.onclose = () => this.#gone.abort();
    this.#transport.onmessage = () => void this.#serve().catch(this.#parts.onError);
    try {
      const response = await this.#transport.handleMessage(forLibrary(message) as never, { request });
      return this.#status === 200
        ? response
        : new Response(response.body, { status: this.#status, headers: response.headers });
    } catch (error) {
      if (!this.#gone.signal.aborted) throw error;
      throw new AppError("timeout", "the client closed the connection", { cause: error });
    }
  }

  hear(message: Request | Notification): void {
    this.#heard?.();
    if (message.method === acknowledged && this.#isAcknowledged) return; // by an instance before
    if (message.method === acknowledged) this.#isAcknowledged = true;
    if (this.#waiting > gatewayLimits.waitingMessages) return;
    this.#waiting += 1;
    const told = this.#out.take(() => this.#tell(message)).finally(() => this.#waiting--);
    told.catch(this.#parts.onError);
  }

  async #tell(message: Message): Promise<void> {
    const judged = await judge(this.#parts.pipeline.toClient, message, this.#context).catch(() => undefined);
    if (judged !== undefined)
      await this.#transport.send(forLibrary(judged), { relatedRequestId: this.#asked.message.id });
  }

  async #serve(): Promise<void> {
    const { pipeline, recorder, onError } = this.#parts;
    const { message, server } = this.#asked;
    const { caller } = this.#context;
    let answer: Answer;
    try {
      answer = await recorder.during({ caller, server, session: "none" }, message, async (sent) => {
        const judged = (await judge(pipeline.toServer, message, this.#context)) as Request;
        sent(judged);
        const given = await this.#ask(judged);
        return (await judge(pipeline.toClient, given, { ...this.#context, request: judged })) as Answer;
      });
    } catch (error) {
      if (!(error instanceof AppError)) onError(error);
      answer = toFailure(message.id, error);
    }
    if ("error" in answer) this.#status = statusOf(answer.error.code);
    await this.#out.take(() => this.#transport.send(forLibrary(answer)));
  }

  async #ask(message: Request): Promise<Answer> {
    const { caller, server } = this.#context;
    const who = this.#who();
    const { signal } = this.#gone;
    const { revision } = this.#asked.classification;
    requireEra(this.#parts.pool.contactOf(server.id), "modern", revision); // before it is started
    const link = await this.#parts.pool.connect(caller, server.id, who, signal);
    const release = releaseOf(link);
    try {
      requireEra(link.contact, "modern", revision);
      const upstream = this.#parts.upstreams.modern(link);
      this.#parts.wakes.tell(server, who, link, upstream);
      if (message.method === "subscriptions/listen") {
        this.#heard = release;
        return await this.#listen(message, link, upstream);
      }
      await this.#mirror(message, upstream);
      const answer = await upstream.upstream.request(this, message, { gone: signal });
      if (message.method === "tools/list" && "result" in answer) upstream.headers?.learn(answer.result);
      return answer;
    } finally {
      release();
    }
  }

  /** Fields of the request to the server are made of its arguments; those of the client must say the same. */
  async #mirror(message: Request, { upstream, headers }: ModernUpstream): Promise<void> {
    if (headers === undefined || message.method !== "tools/call") return;
    if (!headers.knows(message.params?.name)) await this.#learn(message, upstream, headers);
    headers.check(this.#asked.message, this.#asked.request.headers);
  }

  async #learn(message: Request, upstream: Upstream, headers: ToolHeaders): Promise<void> {
    let cursor: unknown;
    for (let page = 0; page < gatewayLimits.pages; page++) {
      const meta = { ...metaOf(message), progressToken: undefined };
      const params = cursor === undefined ? {} : { cursor };
      const list = withMeta<Request>({ jsonrpc: "2.0", id: message.id, method: "tools/list", params }, meta);
      const asked = { gone: this.#gone.signal, mostMs: gatewayLimits.openMs };
      const answer = await upstream.request(this, list, asked);
      if (!("result" in answer)) return;
      headers.learn(answer.result);
      cursor = answer.result.nextCursor;
      if (typeof cursor !== "string") return;
    }
  }

  /** Listens to one instance after the other. The stream keeps none awake, and starts none but the first. */
  async #listen(message: Request, link: ServerLink, first: ModernUpstream): Promise<Answer> {
    const { server } = this.#context;
    const { signal } = this.#gone;
    for (let next: ModernUpstream | undefined = first; next !== undefined; ) {
      const { upstream } = next;
      try {
        return await upstream.request(this, message, { gone: signal, endless: true });
      } catch (error) {
        if (!upstream.isOver || signal.aborted) throw error;
      }
      next = await this.#parts.wakes.next(server, this.#who(), link, signal);
    }
    throw new AppError("timeout", "the client closed the connection");
  }

  #who(): LinkFor {
    const capabilities = metaOf(this.#asked.message)[CLIENT_CAPABILITIES_META_KEY];
    const declared = JSON.stringify([this.#asked.classification.revision, capabilities]);
    return { principal: this.#context.caller.principal.id, capabilities: hash("sha256", declared) };
  }
}

/** Statuses that the protocol has for some errors. */
function statusOf(code: number): number {
  if (code === rpcCodes.methodNotFound) return 404;
  const refused: readonly number[] = [rpcCodes.headerMismatch, rpcCodes.missingCapability, rpcCodes.unsupportedVersion];
  return refused.includes(code) ? 400 : 200;
}
