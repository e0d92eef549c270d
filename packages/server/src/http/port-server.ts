/**
 * Ports of sandboxes for browsers: a listener of its own, and for each port a host name of its own, so that a page of a
 * sandbox shares neither origin nor cookies with the API, the dashboard or another sandbox (hazard 2, NET-14).
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import { type Duplex, pipeline } from "node:stream";
import { AppError, messageOf } from "../core/errors.ts";
import type { Fleet } from "../core/fleet.ts";
import type { Recorder } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";
import { formatHead } from "../http-over/head.ts";
import type { Keyring } from "../identity/keyring.ts";
import type { PortPass, PortPasses } from "../identity/port-passes.ts";
import { randomId } from "../lib/random-id.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { SharedPorts } from "../sandboxes/shared-ports.ts";
import { endSocket } from "./end-socket.ts";
import { httpLimits, portLimits } from "./limits.ts";
import { askPort, askSocket, joinSocket, type PortRequest } from "./port-forward.ts";
import { ownOriginHeaders } from "./port-headers.ts";
import { problemType, report, toProblem } from "./problem.ts";
import { watchBody } from "./request-body.ts";

const cookieName = "caisson_port";
const tokenName = "caisson_token";

export interface PortServerParts {
  fleet: Fleet<Sandbox>;
  sharedPorts: SharedPorts;
  passes: PortPasses;
  keyring: Keyring;
  journal: Recorder;
  /** Below it every port has a name: `8000-SANDBOX.localhost`. */
  domain: string;
  /** How long a client may be silent in the middle of a body. Default: as on the API. */
  bodyIdleMs?: number | undefined;
  onError: (error: unknown) => void;
}

interface PortAddress {
  sandboxId: string;
  port: number;
}

/** The name of a port. */
function portHost({ sandboxId, port }: PortAddress, domain: string): string {
  return `${port}-${sandboxId}.${domain}`;
}

function addressOf(host: string | undefined, domain: string): PortAddress | undefined {
  const name = (host ?? "").toLowerCase().replace(/:\d{1,5}$/, "");
  if (!name.endsWith(`.${domain}`)) return undefined;
  const found = /^(\d{1,5})-([a-z0-9-]{1,50})$/.exec(name.slice(0, -domain.length - 1));
  const port = Number(found?.[1]);
  return found?.[2] === undefined || port < 1 || port > 65_535 ? undefined : { sandboxId: found[2], port };
}

function cookieOf(request: IncomingMessage): string | undefined {
  const pairs = (request.headers.cookie ?? "").split(/;\s*/);
  return pairs.find((pair) => pair.startsWith(`${cookieName}=`))?.slice(cookieName.length + 1);
}

export class PortServer {
  readonly server: Server;
  readonly #parts: PortServerParts;
  /** Those that have become WebSockets: the server does not know them any more. */
  readonly #sockets = new Set<Duplex>();

  constructor(parts: PortServerParts) {
    this.#parts = parts;
    this.server = createServer({
      maxHeaderSize: httpLimits.headerBytes,
      headersTimeout: httpLimits.headersTimeoutMs,
      keepAliveTimeout: httpLimits.keepAliveMs,
      requestTimeout: 0,
    });
    this.server.maxConnections = portLimits.connections;
    this.server.on("request", (request, response) => this.#request(request, response).catch(this.#fail(response)));
    this.server.on("upgrade", (request, socket, head) =>
      this.#upgrade(request, socket, head).catch((error: unknown) => refuseRaw(socket, this.#explain(error))),
    );
  }

  /** The address of a port while this listens. */
  urlOf(sandboxId: string, port: number): string | null {
    const address = this.server.address();
    if (address === null || typeof address === "string") return null;
    return `http://${portHost({ sandboxId, port }, this.#parts.domain)}:${address.port}/`;
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, "close");
    this.server.close();
    this.server.closeAllConnections();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #request(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const address = this.#address(request);
    const entered = this.#enter(request, address);
    if (entered !== undefined) return void response.writeHead(303, entered).end();
    watchBody(request, this.#parts.bodyIdleMs ?? httpLimits.bodyIdleMs);
    await this.#lend(request, address, async (sandbox) => {
      const answer = await askPort(sandbox, requestOf(request, address), hasBody(request) ? request : undefined);
      response.writeHead(answer.status, ownOriginHeaders(answer.headers));
      const { promise, resolve } = Promise.withResolvers<void>();
      pipeline(answer.body, response, () => resolve());
      await promise;
    });
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on("error", () => undefined);
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    const address = this.#address(request);
    checkSameOrigin(request);
    if (head.length > 0) socket.unshift(head);
    await this.#lend(request, address, async (sandbox) => {
      const answer = await askSocket(sandbox, requestOf(request, address));
      if ("tunnel" in answer) return joinSocket(sandbox, socket, answer);
      socket.write(
        formatHead(answer.status, STATUS_CODES[answer.status] ?? "", [
          ...ownOriginHeaders(answer.headers),
          "Connection",
          "close",
        ]),
      );
      const { promise, resolve } = Promise.withResolvers<void>();
      pipeline(answer.body, socket, () => resolve());
      await promise;
      endSocket(socket);
    });
  }

  #address(request: IncomingMessage): PortAddress {
    const address = addressOf(request.headers.host, this.#parts.domain);
    if (address !== undefined) return address;
    throw new AppError("not_found", "this host name is not a port of a sandbox", {
      hint: `${portHost({ sandboxId: "SANDBOX", port: 8000 }, this.#parts.domain)} is an example`,
    });
  }

  /** A link's token becomes a cookie, and is gone from the address. */
  #enter(request: IncomingMessage, { sandboxId, port }: PortAddress): Record<string, string> | undefined {
    const url = new URL(request.url ?? "/", "http://localhost");
    const token = url.searchParams.get(tokenName);
    if (token === null || request.method !== "GET") return undefined;
    const pass = this.#open(token, { sandboxId, port });
    if (pass === undefined) throw refused();
    url.searchParams.delete(tokenName);
    const seconds = Math.max(1, Math.floor((pass.expiresAtMs - Date.now()) / 1000));
    return {
      location: url.pathname.replace(/^\/{2,}/, "/") + url.search,
      "set-cookie": `${cookieName}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax`,
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    };
  }

  #open(token: string | undefined, { sandboxId, port }: PortAddress): PortPass | undefined {
    if (token === undefined || token.length > portLimits.tokenChars) return undefined;
    return this.#parts.passes.open(token, sandboxId, port);
  }

  async #lend(request: IncomingMessage, address: PortAddress, act: (sandbox: Sandbox) => Promise<void>): Promise<void> {
    const { journal, fleet } = this.#parts;
    const caller = await this.#caller(request, address);
    journal.requireRoom(caller.principal);
    const data = { port: address.port, method: request.method ?? "" };
    await journal.record({ type: "port.request", by: caller, sandboxId: address.sandboxId, data });
    await fleet.use(caller, address.sandboxId, act);
  }

  /** In whose name: of the key that gave the link, while it holds; of nobody, where anybody may come. */
  async #caller(request: IncomingMessage, address: PortAddress): Promise<Caller> {
    const { sharedPorts, fleet, keyring } = this.#parts;
    const visibility = sharedPorts.visibilityOf(address.sandboxId, address.port);
    const namespace = fleet.namespaceOf(address.sandboxId);
    if (visibility === "private" || namespace === undefined) throw refused();
    const requestId = `req_${randomId(9, "base64url")}`;
    if (visibility === "public")
      return { principal: { id: "public", name: "public", namespace, role: "viewer" }, requestId };
    const pass = this.#open(cookieOf(request), address);
    const principal = pass === undefined ? undefined : await keyring.principalOf(pass.keyId);
    if (pass === undefined || principal === undefined || pass.namespace !== namespace) throw refused();
    return { principal: { ...principal, namespace }, requestId };
  }

  #explain(error: unknown): AppError {
    return report(error, this.#parts.onError);
  }

  #fail(response: ServerResponse) {
    return (error: unknown) => {
      const problem = toProblem(this.#explain(error), "none");
      if (response.headersSent) return void response.destroy();
      const body = JSON.stringify(problem);
      response.writeHead(problem.status, {
        "content-type": problemType,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
      });
      response.end(body);
    };
  }
}

/** The same for what is not there and for what may not be seen. */
function refused(): AppError {
  return new AppError("forbidden", "this port requires a link or an API key", {
    hint: "create a link: caisson ports link SANDBOX PORT",
  });
}

/** A page of another origin must not open a socket with this one's cookie. */
function checkSameOrigin({ headers: { origin, host } }: IncomingMessage): void {
  if (origin === undefined || URL.parse(origin)?.host === host) return;
  throw new AppError("forbidden", "web pages of another origin cannot open a WebSocket here");
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
}

/** Its own cookies reach the program, the daemon's does not. */
function requestOf(request: IncomingMessage, { port }: PortAddress): PortRequest {
  const { rawHeaders, method = "GET", url = "/" } = request;
  const cookies = (request.headers.cookie ?? "").split(/;\s*/).filter((pair) => !pair.startsWith(`${cookieName}=`));
  const kept = cookies.filter((pair) => pair !== "").join("; ");
  const added = ["X-Forwarded-Host", request.headers.host ?? "", "X-Forwarded-Proto", "http"];
  return {
    port,
    method,
    path: url,
    raw: rawHeaders,
    leaveOut: ["cookie"],
    added: kept === "" ? added : [...added, "Cookie", kept],
  };
}

function refuseRaw(socket: Duplex, error: AppError): void {
  const { status, detail } = toProblem(error, "none");
  const body = `${detail ?? messageOf(error)}\n`;
  const fields = [
    "Content-Type",
    "text/plain",
    "Content-Length",
    String(Buffer.byteLength(body)),
    "Connection",
    "close",
  ];
  endSocket(socket, formatHead(status, STATUS_CODES[status] ?? "", fields) + body);
}
