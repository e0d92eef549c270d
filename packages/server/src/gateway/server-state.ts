/** All that a server knows of a client's session, so that a new instance gets it before the next call (hazard 16). */
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../core/errors.ts";
import type { ServerLink } from "../core/server-link.ts";
import { gatewayLimits } from "./limits.ts";
import { type Answer, isRecord, type Message, type Notification, type Params, type Request } from "./message.ts";
import { RpcRefusal } from "./rpc-error.ts";
import type { Peer, Upstream } from "./upstream.ts";
import type { HttpSession, Upstreams } from "./upstreams.ts";

const lists = ["tools", "prompts", "resources"];

export class ServerState {
  readonly #peer: Peer;
  readonly #upstreams: Upstreams;
  #upstream: Upstream | undefined;
  #http: HttpSession | undefined;
  #handshake: Request | undefined;
  /** The answer that the client has got. */
  #told: Params = {};
  #version = 0;
  #isInitialized = false;
  #level: Request | undefined;
  readonly #subscriptions = new Map<string, Request>();
  #asksRoots = false;
  #roots: Params | undefined;
  #isReplaying = false;
  #isOver = false;

  constructor(peer: Peer, upstreams: Upstreams) {
    this.#peer = peer;
    this.#upstreams = upstreams;
  }

  get upstream(): Upstream | undefined {
    return this.#upstream;
  }

  /** True if the client has to open a new session. */
  get isOver(): boolean {
    return this.#isOver;
  }

  async begin(link: ServerLink, handshake: Request): Promise<Answer> {
    requireRoom(handshake, gatewayLimits.keptBytes);
    this.#handshake = handshake;
    this.#told = await this.#open(link, handshake);
    this.#version = link.version;
    return { jsonrpc: "2.0", id: handshake.id, result: this.#told };
  }

  /** The connection to the instance of this link, which has all that the session's earlier ones had. */
  async reach(link: ServerLink): Promise<Upstream> {
    const known = this.#upstream;
    if (known?.incarnation === link.incarnation && !known.isOver) return known;
    if (this.#handshake === undefined || link.contact.era !== "legacy") throw this.#give("the server has changed");
    const { protocolVersion } = await this.#open(link, this.#handshake);
    if (protocolVersion !== this.#told.protocolVersion) throw this.#give("the server has changed");
    const upstream = this.#upstream as Upstream;
    if (this.#isInitialized) await this.#replay(upstream);
    if (this.#version !== link.version) this.#announce();
    this.#version = link.version;
    return upstream;
  }

  /** Refuses what could not be replayed. */
  admit(request: Request): void {
    const { method } = request;
    if (method === "resources/subscribe" || method === "logging/setLevel")
      requireRoom(request, gatewayLimits.keptRequestBytes);
    if (method !== "resources/subscribe" || this.#subscriptions.size < gatewayLimits.subscriptions) return;
    throw new AppError("limit_exceeded", `a session subscribes to at most ${gatewayLimits.subscriptions} resources`);
  }

  note(request: Request, answer: Answer): void {
    if ("error" in answer) return;
    const uri = String(request.params?.uri);
    if (request.method === "logging/setLevel") this.#level = request;
    if (request.method === "resources/subscribe") this.#subscriptions.set(uri, request);
    if (request.method === "resources/unsubscribe") this.#subscriptions.delete(uri);
  }

  /** Passes a client's notification on to an instance that runs. None is started for it. */
  tell(message: Notification): void {
    if (message.method === "notifications/roots/list_changed") this.#roots = undefined;
    if (message.method !== "notifications/initialized") return this.#upstream?.notify(message);
    this.#isInitialized = true;
    void this.#ready();
  }

  /** Answers of the gateway's own: to a ping, and with roots that a new instance asks for again. */
  answerTo({ id, method }: Request): Answer | undefined {
    if (method === "ping") return { jsonrpc: "2.0", id, result: {} };
    if (method !== "roots/list") return undefined;
    this.#asksRoots = true;
    if (!this.#isReplaying || this.#roots === undefined) return undefined;
    this.#upstream?.roots.resolve();
    return { jsonrpc: "2.0", id, result: this.#roots };
  }

  /** Keeps the roots that the client has answered with. */
  noteAnswer(method: string, answer: Answer): void {
    if (method !== "roots/list" || "error" in answer) return;
    this.#roots = sizeOf(answer) > gatewayLimits.keptBytes ? undefined : answer.result; // the client is asked again
    this.#upstream?.roots.resolve();
  }

  /** The server does not know its session any more: the next call opens another one. */
  lose(): void {
    this.#leave();
  }

  close(): void {
    this.#isOver = true;
    const isServed = this.#http !== undefined && this.#upstream?.isOver === false;
    const ending = isServed ? this.#http?.line.end().catch(() => undefined) : undefined;
    if (ending === undefined) this.#leave();
    else void ending.then(() => this.#leave());
  }

  async #open(link: ServerLink, handshake: Request): Promise<Params> {
    this.#leave();
    const { upstream, http } = this.#upstreams.legacy(link);
    this.#upstream = upstream;
    this.#http = http;
    upstream.attach(this.#peer);
    try {
      const result = await upstream.handshake.get(() => this.#shake(upstream, handshake));
      http?.speech.speak(String(result.protocolVersion));
      return result;
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  async #shake(upstream: Upstream, handshake: Request): Promise<Params> {
    const answer = await upstream.request(this.#peer, handshake, { mostMs: gatewayLimits.openMs });
    if ("error" in answer) throw new RpcRefusal(answer.error.code, answer.error.message, { data: { server: true } });
    if (sizeOf(answer) > gatewayLimits.keptBytes)
      throw new AppError(
        "unavailable",
        `the server's answer to initialize has more than ${gatewayLimits.keptBytes} bytes`,
      );
    const { protocolVersion } = answer.result;
    if (typeof protocolVersion === "string" && /^[\w.-]{1,32}$/.test(protocolVersion)) return answer.result;
    throw new AppError("unavailable", "the server's answer to initialize names no protocol version");
  }

  async #replay(upstream: Upstream): Promise<void> {
    this.#isReplaying = true;
    try {
      await this.#ready();
      for (const request of [this.#level, ...this.#subscriptions.values()])
        if (request !== undefined) await upstream.request(this.#peer, request, { mostMs: gatewayLimits.openMs });
      // Without its roots a server may reach more than it may.
      if (this.#asksRoots) await this.#awaitRoots(upstream);
    } catch (error) {
      this.#leave();
      throw error;
    } finally {
      this.#isReplaying = false;
    }
  }

  async #awaitRoots(upstream: Upstream): Promise<void> {
    const waiting = new AbortController();
    const late = sleep(gatewayLimits.rootsMs, "late", { signal: waiting.signal, ref: false }).catch(() => undefined);
    const first = await Promise.race([upstream.roots.promise, late]);
    waiting.abort();
    if (first === "late") throw this.#give("the new instance did not ask for the client's roots");
  }

  /** Some servers ask for roots at once: the stream that carries their question is there before. */
  async #ready(): Promise<void> {
    const { upstream } = this;
    const { line } = this.#http ?? {};
    if (line !== undefined) {
      const opened = Promise.withResolvers<void>();
      line.listen(opened.resolve).finally(opened.resolve); // a server need not have such a stream
      await Promise.race([opened.promise, sleep(gatewayLimits.listenMs, undefined, { ref: false })]);
    }
    upstream?.ready();
  }

  /** The client's lists are of another version. */
  #announce(): void {
    const { capabilities } = this.#told;
    for (const list of lists) {
      const own = isRecord(capabilities) ? capabilities[list] : undefined;
      if (isRecord(own) && own.listChanged === true)
        this.#peer.hear({ jsonrpc: "2.0", method: `notifications/${list}/list_changed` }, undefined);
    }
  }

  #give(why: string): AppError {
    this.#isOver = true;
    return new AppError("unavailable", `${why}: the session has ended`, { hint: "initialize again" });
  }

  #leave(): void {
    const upstream = this.#upstream;
    this.#upstream = undefined;
    upstream?.detach(this.#peer);
    if (this.#http !== undefined) upstream?.end(new AppError("unavailable", "the session has ended"));
    this.#http = undefined;
  }
}

function sizeOf(message: Message): number {
  return Buffer.byteLength(JSON.stringify(message));
}

/** A session keeps it as long as it lives. */
function requireRoom(request: Request, most: number): void {
  if (sizeOf(request) > most) throw new AppError("too_large", `${request.method} with more than ${most} bytes`);
}
