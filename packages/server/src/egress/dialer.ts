/** The only file that opens outbound sockets. A name is resolved once, judged, and dialled by the address that was judged. */
import { type LookupAddress, lookup } from "node:dns";
import { Resolver } from "node:dns/promises";
import {
  type Agent,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
  request as requestPlain,
} from "node:http";
import { type ClientHttp2Session, type ClientSessionOptions, connect as connectHttp2 } from "node:http2";
import { request as requestTls } from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import type { Dialer, OutboundRequest, OutboundResponse } from "../core/dialer.ts";
import { AppError, errnoOf, messageOf } from "../core/errors.ts";
import { dialLimits } from "../webhooks/limits.ts";
import { isBlockedAddress } from "./blocked-ranges.ts";
import { gateLimits } from "./gate-limits.ts";
import { OutboundSocket } from "./outbound-socket.ts";
import { isOwnAddress } from "./own-addresses.ts";

export interface DialerOptions {
  /** Whether private and loopback addresses may be dialled. */
  allowPrivate: boolean;
}

/** Refuses a URL that nothing should be sent to, whatever its name resolves to. */
export function checkOutboundUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || text.length > dialLimits.urlCharacters) throw new AppError("invalid", "not a URL");
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw new AppError("invalid", `unsupported protocol ${url.protocol}`, { hint: "use http or https" });
  if (url.username !== "" || url.password !== "")
    throw new AppError("invalid", "the URL contains a password", { hint: "remove it: requests are signed" });
  return url;
}

function refused(host: string): AppError {
  return new AppError("forbidden", `${host} is an address of this machine or a private network`, {
    hint: "the setting webhooks.allow_private allows webhooks to it",
  });
}

export class HttpDialer implements Dialer {
  readonly #allowPrivate: boolean;

  constructor({ allowPrivate }: DialerOptions) {
    this.#allowPrivate = allowPrivate;
  }

  async post({ url: text, headers, body, timeoutMs }: OutboundRequest): Promise<OutboundResponse> {
    const url = checkOutboundUrl(text);
    const host = url.hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && !this.#mayDial(host)) throw refused(host);
    const send = url.protocol === "https:" ? requestTls : requestPlain;
    const signal = AbortSignal.timeout(timeoutMs);
    const answer = Promise.withResolvers<IncomingMessage>();
    // A connection of its own: one that was kept open was judged under another name.
    const request = send(url, { method: "POST", headers, signal, agent: false, lookup: this.#lookup });
    request.on("response", answer.resolve).on("error", answer.reject).end(body);
    try {
      const { statusCode = 0, headers: answered } = await answer.promise;
      return { status: statusCode, location: answered.location ?? null };
    } catch (error) {
      throw explain(error, url, timeoutMs, signal.aborted);
    } finally {
      request.destroy(); // what the other side has to say beyond its status is not read
    }
  }

  #mayDial(address: string): boolean {
    return this.#allowPrivate || !(isBlockedAddress(address) || isOwnAddress(address));
  }

  /** One bad address among several refuses the name: which of them would be dialled is not ours to choose. */
  readonly #lookup = (
    hostname: string,
    options: object,
    done: (error: Error | null, address: string | LookupAddress[], family?: number) => void,
  ): void => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return done(error, "");
      const [first] = addresses;
      if (first === undefined || !addresses.every(({ address }) => this.#mayDial(address)))
        return done(refused(hostname), "");
      if ("all" in options && options.all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}

function explain(error: unknown, url: URL, timeoutMs: number, timedOut: boolean): AppError {
  if (error instanceof AppError) return error;
  if (timedOut) return new AppError("timeout", `${url.host} did not answer within ${timeoutMs / 1000} s`);
  const why = errnoOf(error) ?? messageOf(error);
  return new AppError("unavailable", `cannot reach ${url.host}: ${why}`, { cause: error });
}

/** Connects to an address that was judged. Half of the connection may end before the other. */
export function dial(address: string, port: number, signal: AbortSignal): Promise<OutboundSocket> {
  if (isIP(address) === 0) throw new AppError("internal", "only an address is dialled");
  const socket = new OutboundSocket();
  const { promise, resolve, reject } = Promise.withResolvers<OutboundSocket>();
  const abort = () => socket.destroy(new AppError("timeout", "no answer in time"));
  signal.addEventListener("abort", abort, { once: true });
  socket.once("connect", () => resolve(socket)).once("error", reject);
  socket.setNoDelay().setKeepAlive(true).connect({ host: address, port });
  if (signal.aborted) abort();
  return promise.finally(() => {
    signal.removeEventListener("abort", abort);
    socket.off("error", reject);
  });
}

/** Refuses what is no address of a name server. */
export function checkServers(servers: readonly string[]): void {
  try {
    new Resolver().setServers([...servers]);
  } catch (error) {
    throw new AppError("invalid", `network.dns_servers: not addresses of DNS servers: ${servers.join(", ")}`, {
      hint: "write 10.0.0.2, 127.0.0.1:5353 or [2001:db8::53]:53",
      cause: error,
    });
  }
}

export interface FoundAddresses {
  addresses: string[];
  /** How long they may be believed. */
  ttlMs: number;
}

/** TLS on a connection that is there already. */
export function secureOver(socket: Duplex, options: ConnectionOptions): TLSSocket {
  return connectTls({ ...options, socket });
}

/** HTTP/2 on a connection that is there already. */
export function http2Over(connection: Duplex, authority: string, options: ClientSessionOptions): ClientHttp2Session {
  return connectHttp2(authority, { ...options, createConnection: () => connection });
}

/** A request on the connections that an agent has. */
export function requestBy(agent: Agent, options: RequestOptions): ClientRequest {
  return requestPlain({ ...options, agent });
}

/** Asks DNS servers for the addresses of a name that may be asked for: those of this machine unless told which. */
export async function resolveAddresses(name: string, servers: readonly string[]): Promise<FoundAddresses> {
  // Made anew each time: which servers a machine has can change while it runs.
  const resolver = new Resolver({ timeout: gateLimits.resolveMs / 4, tries: 2 });
  if (servers.length > 0) resolver.setServers([...servers]);
  const timer = setTimeout(() => resolver.cancel(), gateLimits.resolveMs);
  const answers = await Promise.allSettled([
    resolver.resolve4(name, { ttl: true }),
    resolver.resolve6(name, { ttl: true }),
  ]);
  clearTimeout(timer);
  const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (found.length > 0) {
    const addresses = found.map(({ address }) => address).slice(0, gateLimits.addresses);
    return { addresses, ttlMs: Math.min(...found.map(({ ttl }) => ttl)) * 1_000 };
  }
  const [first] = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason] : []));
  throw new AppError("unavailable", `${name} does not resolve: ${errnoOf(first) ?? "no address"}`, { cause: first });
}
