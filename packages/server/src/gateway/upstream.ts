/** Requests of clients on one connection to a hosted server, each with an id of the gateway's own (S132). */
import { setMaxListeners } from "node:events";
import { SUBSCRIPTION_ID_META_KEY } from "@modelcontextprotocol/server";
import { AppError } from "../core/errors.ts";
import type { Mask } from "../core/server-link.ts";
import { Once } from "../lib/once.ts";
import { gatewayLimits } from "./limits.ts";
import type { Hearer, Line } from "./line.ts";
import {
  type Answer,
  type Id,
  isAnswer,
  isRequest,
  type Message,
  metaOf,
  type Notification,
  type Params,
  type Request,
  withId,
  withMeta,
  withParams,
} from "./message.ts";
import { PendingRequest } from "./pending-request.ts";

/** A client that has requests on this connection. */
export interface Peer {
  /** `about`: the client's own id of the request that the message belongs to. */
  hear(message: Request | Notification, about: Id | undefined): void;
}

interface UpstreamKind {
  incarnation: string;
  /** Aborted when the instance ends. */
  ended: AbortSignal;
  /** Masks the values of the server's secrets. */
  mask: Mask;
  /** False where closing its connection ends a request (2026-07-28 over HTTP). */
  cancelsByMessage: boolean;
  /** False where every message says to which request it belongs, or is dropped (2026-07-28). */
  guessesOwner: boolean;
}

interface Asked {
  gone?: AbortSignal;
  /** A stream without an end, as `subscriptions/listen`: it is no call. */
  endless?: true;
  /** Longest time in all. Default: that of a call. */
  mostMs?: number;
}

export class Upstream implements Hearer {
  readonly incarnation: string;
  /** The server's answer to `initialize`, asked once for all who share this connection. */
  readonly handshake = new Once<Params>();
  /** Resolved when the server has got the roots that it asked for. */
  readonly roots = Promise.withResolvers<void>();
  readonly #kind: UpstreamKind;
  readonly #line: Line;
  readonly #peers = new Set<Peer>();
  readonly #pending = new Map<Id, PendingRequest>();
  /** Requests of the server that a client answers. */
  readonly #questions = new Map<Id, { peer: Peer; during: PendingRequest | undefined }>();
  #last = 0;
  #isReady = false;
  #over: AppError | undefined;
  readonly #lose = () => this.end(lost(this.#kind.ended.reason));

  constructor(kind: UpstreamKind, open: (hearer: Hearer) => Line) {
    this.incarnation = kind.incarnation;
    this.#kind = kind;
    this.#line = open(this);
    setMaxListeners(0, kind.ended); // one for each client
    if (kind.ended.aborted) this.#lose();
    else kind.ended.addEventListener("abort", this.#lose, { once: true });
  }

  get isOver(): boolean {
    return this.#over !== undefined;
  }

  attach(peer: Peer): void {
    this.#peers.add(peer);
  }

  detach(peer: Peer): void {
    this.#peers.delete(peer);
    for (const [id, question] of this.#questions) if (question.peer === peer) this.#questions.delete(id);
    for (const request of this.#pending.values())
      if (request.peer === peer) request.leave(new AppError("unavailable", "the client has ended its session"));
  }

  /** Resolves with the answer, under the client's own id. */
  async request(peer: Peer, message: Request, { gone, endless, mostMs }: Asked = {}): Promise<Answer> {
    if (this.#over !== undefined)
      throw new AppError("unavailable", "the server has ended; the call was not made", { hint: "call again" });
    const calls = [...this.#pending.values()].filter(({ isEndless }) => !isEndless);
    if (endless !== true && calls.length >= gatewayLimits.underWay)
      throw new AppError("limit_exceeded", `${gatewayLimits.underWay} requests to this server are under way`, {
        retryAfterMs: 1_000,
      });
    const id = ++this.#last;
    const token = metaOf(message).progressToken;
    const own = withId(token === undefined ? message : withMeta(message, { progressToken: id }), id);
    const pending = new PendingRequest({ peer, id: message.id, token, endless: endless === true, mostMs });
    this.#pending.set(id, pending);
    const leave = () => pending.fail(new AppError("timeout", "the client does not wait for the answer any more"));
    if (gone?.aborted) leave();
    gone?.addEventListener("abort", leave, { once: true });
    try {
      if (!pending.isSettled) this.#line.send(own, pending.over).catch((error: unknown) => pending.fail(error));
      const answer = await pending.answer;
      return withId(ownSubscription(answer, message.id), message.id);
    } catch (error) {
      if (this.#kind.cancelsByMessage && pending.isLeft) this.#cancel(id);
      throw error;
    } finally {
      this.#pending.delete(id);
      gone?.removeEventListener("abort", leave);
    }
  }

  notify(message: Notification): void {
    if (!this.isOver) this.#line.send(message).catch(() => undefined); // nobody waits for it
  }

  /** Sends `notifications/initialized`, once. */
  ready(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.notify({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  /** Ends a request of this client, by the client's own id. */
  cancel(peer: Peer, id: unknown, reason: AppError): void {
    for (const pending of this.#pending.values()) if (pending.peer === peer && pending.id === id) pending.leave(reason);
  }

  /** Takes a client's answer to a request of the server; one that this client was not asked for is dropped. */
  answer(peer: Peer, answer: Answer): void {
    const question = this.#questions.get(answer.id);
    if (question?.peer !== peer) return;
    this.#questions.delete(answer.id);
    question.during?.resume();
    if (!this.isOver) this.#line.send(answer).catch(() => undefined); // the server waits in vain: its own loss
  }

  end(reason: AppError): void {
    if (this.#over !== undefined) return;
    this.#over = reason;
    this.#kind.ended.removeEventListener("abort", this.#lose);
    this.#line.close();
    for (const pending of [...this.#pending.values()]) pending.fail(reason);
    this.#questions.clear();
  }

  fail(error: AppError, id: Id | undefined): void {
    if (id !== undefined) return this.#pending.get(id)?.fail(error);
    for (const pending of [...this.#pending.values()]) if (!pending.isEndless) pending.fail(error);
  }

  hear(said: Message, about: Id | undefined): void {
    const message = this.#masked(said, about);
    if (message === undefined) return;
    if (isAnswer(message)) return this.#pending.get(message.id)?.settle(message); // one that nobody waits for is dropped
    const owner = about === undefined ? undefined : this.#pending.get(about);
    if (isRequest(message)) return this.#question(message, owner ?? this.#newest());
    if (message.method === "notifications/cancelled") return this.#withdraw(message);
    if (message.method === "notifications/progress") return this.#progress(message);
    const subscription = metaOf(message)[SUBSCRIPTION_ID_META_KEY];
    if (subscription !== undefined) return this.#tell(message, subscription);
    const found = owner ?? this.#ownerOf(message);
    if (found !== undefined) return found.peer.hear(message, found.id);
    if (this.#kind.guessesOwner) for (const peer of this.#peers) peer.hear(message, undefined);
  }

  /** Undefined for one that cannot be looked through: its request fails, and a message of no request is dropped. */
  #masked(said: Message, about: Id | undefined): Message | undefined {
    try {
      return this.#kind.mask(said);
    } catch (error) {
      const id = isAnswer(said) ? said.id : about;
      if (id !== undefined) this.#pending.get(id)?.fail(error);
      return undefined;
    }
  }

  #question(message: Request, owner: PendingRequest | undefined): void {
    // A server of 2026-07-28 asks nothing of clients.
    const peer = this.#kind.guessesOwner ? (owner?.peer ?? [...this.#peers].at(-1)) : undefined;
    if (peer === undefined || this.#questions.has(message.id) || this.#questions.size >= gatewayLimits.questions) {
      const error = { code: -32_603, message: "no client can answer this now" };
      return void this.#line.send({ jsonrpc: "2.0", id: message.id, error }).catch(() => undefined);
    }
    this.#questions.set(message.id, { peer, during: owner });
    owner?.pause();
    peer.hear(message, owner?.id);
  }

  #withdraw(message: Notification): void {
    const id = message.params?.requestId as Id;
    const question = this.#questions.get(id);
    this.#questions.delete(id);
    question?.during?.resume();
    question?.peer.hear(message, undefined);
  }

  #progress(message: Notification): void {
    const pending = this.#pending.get(message.params?.progressToken as Id);
    if (pending?.token === undefined) return;
    pending.touch();
    pending.peer.hear(withParams(message, { progressToken: pending.token }), pending.id);
  }

  #tell(message: Notification, subscription: unknown): void {
    const pending = this.#pending.get(subscription as Id);
    if (pending?.isEndless)
      pending.peer.hear(withMeta(message, { [SUBSCRIPTION_ID_META_KEY]: pending.id }), pending.id);
  }

  /** The one call that a log entry can be of: the newest, or (2026-07-28) the only one. */
  #ownerOf({ method }: Notification): PendingRequest | undefined {
    if (method !== "notifications/message") return undefined;
    const calls = [...this.#pending.values()].filter(({ isEndless }) => !isEndless);
    return this.#kind.guessesOwner || calls.length === 1 ? calls.at(-1) : undefined;
  }

  #newest(): PendingRequest | undefined {
    return this.#kind.guessesOwner ? [...this.#pending.values()].at(-1) : undefined;
  }

  #cancel(id: Id): void {
    this.notify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
  }
}

/** Nobody knows how far a call came, so it is never made again. */
function lost(reason: unknown): AppError {
  const why = reason instanceof AppError ? reason.message : "the server has ended";
  return new AppError("unavailable", `${why}: the outcome of the call is unknown`, { cause: reason });
}

/** The subscription that an answer names is known to the client by the client's id. */
function ownSubscription(answer: Answer, id: Id): Answer {
  if (!("result" in answer)) return answer;
  const { _meta: meta } = answer.result;
  if (typeof meta !== "object" || meta === null || !(SUBSCRIPTION_ID_META_KEY in meta)) return answer;
  return { ...answer, result: { ...answer.result, _meta: { ...meta, [SUBSCRIPTION_ID_META_KEY]: id } } };
}
