/**
 * HTTP/1 of programs, at the proxy and at names' own addresses. Each request is read whole by one parser, judged, and
 * written anew on a connection of its own, so that no two parsers can disagree about where it ends (S47).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Downloads } from "../core/download.ts";
import type { Destination } from "../core/egress.ts";
import { type AdmitParts, admit } from "./admit.ts";
import type { ConnectionRefusal } from "./connection-refusal.ts";
import { type AllowedDestination, readingOf } from "./firewall.ts";
import { forwardDownload, isDownload } from "./forward-download.ts";
import { gateLimits } from "./gate-limits.ts";
import { forwardRequest, forwardUpgrade, type Way } from "./http-forward.ts";
import { answerRaw, answerRefusal, problemResponse } from "./http-response.ts";
import { directTarget, proxyTarget } from "./http-target.ts";
import { parseAuthority } from "./proxy-target.ts";
import { reset } from "./relay.ts";
import { channelOver, type RequestChannels } from "./request-channel.ts";
import type { UpstreamConnection } from "./upstream-connection.ts";

export interface HttpDoorParts extends AdmitParts {
  /** The name behind an address of the sandbox's own, or the destination as it is. */
  alias: (destination: Destination) => Destination;
  /** Files of registries; nothing is kept unless given. */
  downloads?: Downloads;
  /** Takes over a connection by CONNECT whose destination is reached. */
  forwardConnected: (client: Duplex, allowed: AllowedDestination, upstream: UpstreamConnection) => Promise<void>;
}

/** What is known of a connection before its first request: where it leads, unless it is the proxy's. */
interface Connection {
  destination: Destination | null;
  allowed?: AllowedDestination;
  /** TLS was ended here; its requests share what they go out by. */
  inspected?: RequestChannels;
  timer?: NodeJS.Timeout;
  /** Requests that have no answer yet. */
  underWay: number;
}

type Opened = (Way & { answer?: undefined }) | { answer: ConnectionRefusal | string };

export class HttpDoor {
  readonly #parts: HttpDoorParts;
  readonly #server: Server;
  readonly #connections = new WeakMap<Duplex, Connection>();

  constructor(parts: HttpDoorParts) {
    this.#parts = parts;
    const server = createServer({
      maxHeaderSize: gateLimits.headBytes,
      requireHostHeader: false,
      // Other protocols would pass unread; such a request is answered without changing to one.
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
    });
    server.maxHeadersCount = gateLimits.headers;
    server.maxRequestsPerSocket = gateLimits.requests;
    server.on("request", (request, response) => this.#run(request.socket, this.#request(request, response)));
    server.on("checkContinue", (request, response) =>
      this.#run(request.socket, this.#request(request, response, true)),
    );
    server.on("connect", (request, client, head) => this.#run(client, this.#connect(request, client, head)));
    server.on("upgrade", (request, client, head) => this.#run(client, this.#upgrade(request, client, head)));
    server.on("clientError", (_error, client) => {
      if (client.writable)
        answerRaw(client, problemResponse(400, "this is no request that can be read in one way only"));
      else reset(client);
    });
    this.#server = server;
  }

  serveProxy(client: Duplex): void {
    this.#serve(client, { destination: null, underWay: 0 });
  }

  /** A connection to a name's own address. */
  serveDirect(client: Duplex, destination: Destination, allowed?: AllowedDestination): void {
    this.#serve(client, { destination, ...(allowed === undefined ? {} : { allowed }), underWay: 0 });
  }

  /** What came out of TLS that was ended here. */
  serveInspected(client: Duplex, allowed: AllowedDestination, inspected: RequestChannels): void {
    this.#serve(client, { destination: allowed.destination, allowed, inspected, underWay: 0 });
  }

  #serve(client: Duplex, connection: Connection): void {
    client.on("error", () => undefined);
    client.once("close", () => clearTimeout(connection.timer));
    this.#connections.set(client, connection);
    this.#arm(client, connection, gateLimits.greetingMs);
    this.#server.emit("connection", client);
  }

  /** How long a program may say nothing while no request of its own is under way. */
  #arm(client: Duplex, connection: Connection, ms: number): void {
    clearTimeout(connection.timer);
    if (!client.destroyed) connection.timer = setTimeout(() => reset(client), ms);
  }

  #run(client: Duplex, work: Promise<void>): void {
    work.catch(() => reset(client));
  }

  #connectionOf(client: Duplex): Connection {
    const connection = this.#connections.get(client) ?? { destination: null, underWay: 0 };
    clearTimeout(connection.timer);
    return connection;
  }

  async #request(request: IncomingMessage, response: ServerResponse, expects = false): Promise<void> {
    const client = request.socket;
    const connection = this.#connectionOf(client);
    if (++connection.underWay > gateLimits.pipelined) return reset(client);
    response.sendDate = false;
    response.once("close", () => {
      if (--connection.underWay === 0) this.#arm(client, connection, gateLimits.keepAliveMs);
    });
    const way = await this.#open(request, connection);
    if (way.answer !== undefined) return answerRefusal(request, response, way.answer);
    if (expects) response.writeContinue();
    const { downloads } = this.#parts;
    if (downloads !== undefined && isDownload(request, way)) await forwardDownload(request, response, way, downloads);
    else forwardRequest(request, response, way);
  }

  async #upgrade(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    if (head.length > 0) client.unshift(head);
    const way = await this.#open(request, this.#connectionOf(client));
    if (way.answer !== undefined) return answerRaw(client, way.answer);
    forwardUpgrade(request, client, way);
  }

  #open(request: IncomingMessage, connection: Connection): Promise<Opened> {
    const find = () => this.#find(request, connection);
    const { inspected } = connection;
    return inspected === undefined || inspected.refusal !== undefined ? find() : inspected.turn.take(find);
  }

  /** From a request to a way out for it, or to what is answered in its place. */
  async #find(request: IncomingMessage, connection: Connection): Promise<Opened> {
    const { firewall, alias } = this.#parts;
    const { destination, inspected } = connection;
    if (inspected?.refusal !== undefined) return { answer: inspected.refusal };
    const isInspected = inspected !== undefined;
    const { target, problem } =
      destination === null ? proxyTarget(request) : directTarget(request, destination, isInspected ? 443 : 80);
    if (target === undefined) {
      if (destination !== null) await firewall.note(destination, problem);
      return { answer: problem };
    }
    const { method = "", rawHeaders: fields } = request;
    const asked = { destination: alias(target.destination), method, path: target.path, fields, isInspected };
    const admitted = await admit(this.#parts, asked, connection.allowed);
    if (admitted.refusal !== undefined) return { answer: admitted.refusal };
    connection.allowed = admitted.allowed;
    if (inspected !== undefined) return { ...admitted, target, channel: inspected.next() };
    const opened = await firewall.connect(admitted.allowed, "http");
    return opened.upstream === undefined
      ? { answer: opened.refusal }
      : { ...admitted, target, channel: channelOver(opened.upstream) };
  }

  async #connect(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const connection = this.#connectionOf(client);
    if (head.length > 0) client.unshift(head);
    const { firewall, alias, forwardConnected } = this.#parts;
    const asked = connection.destination === null ? parseAuthority(request.url ?? "") : undefined;
    if (asked === undefined) return answerRaw(client, problemResponse(400, "CONNECT takes host:port, at the proxy"));
    const judged = await firewall.judge(alias(asked), connection.allowed);
    if (judged.allowed === undefined) return answerRaw(client, judged.refusal);
    const { allowed } = judged;
    if (allowed.verdict.rule.protocol === "http") {
      client.write(established);
      return this.serveDirect(client, allowed.destination, allowed);
    }
    const opened = await firewall.connect(allowed, readingOf(allowed.verdict.rule));
    if (opened.upstream === undefined) return answerRaw(client, opened.refusal);
    client.write(established);
    return forwardConnected(client, allowed, opened.upstream);
  }
}

const established = "HTTP/1.1 200 Connection established\r\n\r\n";
