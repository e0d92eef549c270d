/**
 * HTTP/1 of programs, at the proxy and at names' own addresses. Each request is read whole by one parser, judged, and
 * written anew on a connection of its own, so that no two parsers can disagree about where it ends (S47).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Destination } from "../core/egress.ts";
import { gateLimits } from "../core/gate-limits.ts";
import { answerRaw, answerRefusal, problemAnswer } from "./http-answer.ts";
import { forwardRequest, forwardUpgrade } from "./http-forward.ts";
import { directTarget, fitsRules, type HttpTarget, proxyTarget } from "./http-target.ts";
import type { Outlet } from "./outlet.ts";
import type { Judged, Passage, Permit } from "./passage.ts";
import { parseAuthority } from "./proxy-target.ts";
import type { Refusal } from "./refusal.ts";
import { reset } from "./relay.ts";

export interface HttpDoorParts {
  passage: Passage;
  /** The name behind an address of the sandbox's own, or the destination as it is. */
  alias: (destination: Destination) => Destination;
  /** Takes over a connection by CONNECT whose destination is reached. */
  carryReached: (client: Duplex, permit: Permit, outlet: Outlet) => Promise<void>;
}

/** What is known of a connection before its first request: where it leads, unless it is the proxy's. */
interface Connection {
  destination: Destination | null;
  permit?: Permit;
  timer?: NodeJS.Timeout;
}

type Admitted = { target: HttpTarget; outlet: Outlet; answer?: undefined } | { answer: Refusal | string };

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
      if (client.writable) answerRaw(client, problemAnswer(400, "this is no request that can be read in one way only"));
      else reset(client);
    });
    this.#server = server;
  }

  serveProxy(client: Duplex): void {
    this.#serve(client, { destination: null });
  }

  /** A connection to a name's own address. */
  serveDirect(client: Duplex, destination: Destination, permit?: Permit): void {
    this.#serve(client, { destination, ...(permit === undefined ? {} : { permit }) });
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
    const connection = this.#connections.get(client) ?? { destination: null };
    clearTimeout(connection.timer);
    return connection;
  }

  async #request(request: IncomingMessage, response: ServerResponse, expects = false): Promise<void> {
    const client = request.socket;
    const connection = this.#connectionOf(client);
    response.sendDate = false;
    response.once("close", () => this.#arm(client, connection, gateLimits.keepAliveMs));
    const admitted = await this.#admit(request, connection);
    if (admitted.answer !== undefined) return answerRefusal(request, response, admitted.answer);
    if (expects) response.writeContinue();
    forwardRequest(request, response, admitted);
  }

  async #upgrade(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    if (head.length > 0) client.unshift(head);
    const admitted = await this.#admit(request, this.#connectionOf(client));
    if (admitted.answer !== undefined) return answerRaw(client, admitted.answer);
    forwardUpgrade(request, client, admitted);
  }

  /** From a request to a way out for it, or to what is answered in its place. */
  async #admit(request: IncomingMessage, connection: Connection): Promise<Admitted> {
    const { passage, alias } = this.#parts;
    const { destination } = connection;
    const { target, problem } = destination === null ? proxyTarget(request) : directTarget(request, destination);
    if (target === undefined) {
      if (destination !== null) await passage.note(destination, problem);
      return { answer: problem };
    }
    const judged = await this.#judge(alias(target.destination), connection);
    if (judged.permit === undefined) return { answer: judged.refusal };
    const { permit } = judged;
    const { method = "" } = request;
    if (!fitsRules(permit.verdict, method, target.path))
      return {
        answer: (
          await passage.refuse(permit, "denied", `no rule lets ${method} ${target.path.split("?")[0]} out`, null)
        ).refusal,
      };
    const opened = await passage.reach(permit, "http");
    return opened.outlet === undefined ? { answer: opened.refusal } : { target, outlet: opened.outlet };
  }

  /** What a human has approved for a connection holds for all of its requests. */
  async #judge(destination: Destination, connection: Connection): Promise<Judged> {
    const judged = await this.#parts.passage.judge(destination, connection.permit);
    if (judged.permit !== undefined) connection.permit = judged.permit;
    return judged;
  }

  async #connect(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const connection = this.#connectionOf(client);
    if (head.length > 0) client.unshift(head);
    const { passage, alias, carryReached } = this.#parts;
    const asked = connection.destination === null ? parseAuthority(request.url ?? "") : undefined;
    if (asked === undefined) return answerRaw(client, problemAnswer(400, "CONNECT takes host:port, at the proxy"));
    const judged = await this.#judge(alias(asked), connection);
    if (judged.permit === undefined) return answerRaw(client, judged.refusal);
    const { permit } = judged;
    if (permit.verdict.rule.protocol === "http") {
      client.write(established);
      return this.serveDirect(client, permit.destination, permit);
    }
    const opened = await passage.reach(permit, permit.verdict.rule.protocol);
    if (opened.outlet === undefined) return answerRaw(client, opened.refusal);
    client.write(established);
    return carryReached(client, permit, opened.outlet);
  }
}

const established = "HTTP/1.1 200 Connection established\r\n\r\n";
