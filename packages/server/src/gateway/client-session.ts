/** A client's session at one hosted server (up to 2025-11-25). It outlives the server's instances. */
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { AppError } from "../core/errors.ts";
import { type Caller, unattended } from "../core/principal.ts";
import type { ServerRecord } from "../core/server.ts";
import type { LinkFor, ServerLink } from "../core/server-link.ts";
import { Turn } from "../lib/turn.ts";
import { toAuthInfo } from "../mcp-protocol/caller.ts";
import type { SessionEvents } from "../mcp-protocol/event-store.ts";
import { mcpLimits } from "../mcp-protocol/limits.ts";
import { ClientQuestions } from "./client-questions.ts";
import type { GatewayParts } from "./gateway-parts.ts";
import { SessionLost } from "./http-line.ts";
import { gatewayLimits } from "./limits.ts";
import {
  type Answer,
  forLibrary,
  type Id,
  isRequest,
  type Message,
  type Notification,
  type Request,
} from "./message.ts";
import { toFailure } from "./rpc-error.ts";
import { ServerState } from "./server-state.ts";
import { type CallContext, judge } from "./stage.ts";
import type { Peer, Upstream } from "./upstream.ts";

export interface SessionStart {
  id: string;
  /** Name of the session in the log; it opens nothing. */
  label: string;
  server: ServerRecord;
  who: LinkFor;
  /** To the instance that answers `initialize`. */
  link: ServerLink;
  /** Ends the lease of that link. */
  release: () => void;
  events: SessionEvents;
  /** The session is over. */
  ended: () => void;
}

export class ClientSession implements Peer {
  readonly principal: string;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly #parts: GatewayParts;
  readonly #start: SessionStart;
  readonly #state: ServerState;
  readonly #questions: ClientQuestions;
  readonly #opening = new Turn();
  readonly #closed = new AbortController();
  /** Messages to the client, in order. */
  readonly #out = new Turn();
  /** Messages of the server alone from before the client first listened; undefined from then on. */
  #held: Message[] | undefined = [];
  #heldBytes = 0;
  #waiting = 0;
  #underWay = 0;
  #caller: Caller;

  constructor(parts: GatewayParts, caller: Caller, start: SessionStart) {
    this.#parts = parts;
    this.#start = start;
    this.#caller = unattended(caller);
    this.principal = caller.principal.id;
    this.#state = new ServerState(this, parts.upstreams);
    this.#questions = new ClientQuestions(`${start.label}.`);
    this.transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => start.id,
      onsessionclosed: () => this.close(),
      eventStore: start.events,
      retryInterval: mcpLimits.retryMs,
      keepAliveMs: mcpLimits.keepAliveMs,
    });
    this.transport.onmessage = (message, extra) =>
      this.#take(message as Message, (extra?.authInfo?.extra?.caller as Caller | undefined) ?? caller);
  }

  async handle(request: globalThis.Request, caller: Caller, parsedBody: unknown): Promise<Response> {
    const given = { authInfo: toAuthInfo(unattended(caller)), parsedBody };
    const response = await this.transport.handleRequest(request, given);
    if (request.method === "GET" && response.ok) this.#release();
    return response;
  }

  /** Ends it at both sides, once. */
  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    this.#start.ended();
    this.#state.close();
    await this.transport.close();
    this.#start.events[Symbol.dispose]();
  }

  /** Passes on what the server says. */
  hear(message: Request | Notification, about: Id | undefined): void {
    const { upstream } = this.#state;
    if (upstream === undefined) return;
    if (isRequest(message)) {
      const known = this.#state.answerTo(message);
      if (known !== undefined) return upstream.answer(this, known);
    } else if (this.#waiting > gatewayLimits.waitingMessages) return; // the server talks faster than can be passed on
    this.#waiting += 1;
    const told = this.#out.take(() => this.#tell(message, upstream, about)).finally(() => this.#waiting--);
    told.catch(this.#parts.onError);
  }

  async #tell(message: Request | Notification, upstream: Upstream, about: Id | undefined): Promise<void> {
    let judged: Message;
    try {
      judged = await judge(this.#parts.pipeline.toClient, message, this.#context());
    } catch (error) {
      if (isRequest(message)) upstream.answer(this, toFailure(message.id, error));
      return;
    }
    const sent = this.#questions.ask(judged as Request | Notification, upstream);
    if (sent !== undefined) await this.#send(sent, about);
  }

  #release(): void {
    for (const message of this.#held ?? []) void this.#out.take(() => this.#send(message));
    this.#held = undefined;
  }

  /** On the stream of the request that it belongs to; where that is gone, on the session's own. */
  async #send(message: Message, about?: Id): Promise<void> {
    if (about === undefined && "method" in message && this.#held !== undefined) {
      this.#heldBytes += Buffer.byteLength(JSON.stringify(message));
      const hasRoom = this.#held.length < gatewayLimits.questions && this.#heldBytes <= gatewayLimits.heldBytes;
      if (hasRoom) this.#held.push(message);
      return;
    }
    const sent = forLibrary(message);
    const related = about === undefined ? {} : { relatedRequestId: about };
    await this.transport
      .send(sent, related)
      .catch(() => ("method" in message && about !== undefined ? this.transport.send(sent) : undefined))
      .catch(() => undefined); // the client has left
  }

  #take(message: Message, caller: Caller): void {
    this.#caller = caller; // all its requests have the same owner
    const work = isRequest(message) ? this.#serve(message, caller) : this.#hearClient(message);
    work.catch(this.#parts.onError);
  }

  async #serve(request: Request, caller: Caller): Promise<void> {
    const { recorder, pipeline, onError } = this.#parts;
    const { server, label: session } = this.#start;
    const context = this.#context(caller);
    let answer: Answer;
    try {
      answer = await recorder.during({ caller, server, session }, request, async (sent) => {
        const judged = (await judge(pipeline.toServer, request, context)) as Request;
        sent(judged);
        const given = await this.#ask(judged, caller);
        return (await judge(pipeline.toClient, given, { ...context, request: judged })) as Answer;
      });
    } catch (error) {
      if (!(error instanceof AppError)) onError(error);
      answer = toFailure(request.id, error);
    }
    await this.#out.take(() => this.#send(answer));
    if (request.method === "initialize") this.#start.release();
    if (this.#state.isOver || (request.method === "initialize" && "error" in answer)) await this.close();
  }

  async #ask(request: Request, caller: Caller): Promise<Answer> {
    if (request.method === "ping") return { jsonrpc: "2.0", id: request.id, result: {} };
    if (this.#underWay >= gatewayLimits.underWay)
      throw new AppError("limit_exceeded", `${gatewayLimits.underWay} requests of this session are under way`);
    this.#underWay += 1;
    try {
      if (request.method === "initialize")
        return await this.#opening.take(() => this.#state.begin(this.#start.link, request));
      return await this.#forward(request, caller);
    } finally {
      this.#underWay -= 1;
    }
  }

  async #forward(request: Request, caller: Caller): Promise<Answer> {
    const { server, who } = this.#start;
    this.#state.admit(request);
    const link = await this.#parts.pool.connect(caller, server.id, who, this.#closed.signal);
    try {
      const upstream = await this.#opening.take(() => this.#state.reach(link));
      const answer = await upstream.request(this, request);
      this.#state.note(request, answer);
      return answer;
    } catch (error) {
      if (error instanceof SessionLost) this.#state.lose();
      throw error;
    } finally {
      link.release();
    }
  }

  async #hearClient(message: Exclude<Message, Request>): Promise<void> {
    const judged = await judge(this.#parts.pipeline.toServer, message, this.#context()).catch(() => undefined);
    if (judged === undefined || isRequest(judged)) return;
    if (!("method" in judged))
      return this.#questions.answer(this, judged, (method) => this.#state.noteAnswer(method, judged));
    if (judged.method !== "notifications/cancelled") return this.#state.tell(judged);
    const reason = new AppError("timeout", "the client has cancelled the request");
    this.#state.upstream?.cancel(this, judged.params?.requestId, reason);
  }

  #context(caller = this.#caller): CallContext {
    return { caller, server: this.#start.server, era: "legacy" };
  }
}
