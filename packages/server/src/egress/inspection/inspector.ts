/** TLS of a program is ended here, and begun anew with the host: what is inside can be judged (NET-07, NET-08, NET-12, S55). */
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { AppError, messageOf } from "../../core/errors.ts";
import { Turn } from "../../lib/turn.ts";
import type { AdmitParts } from "../admit.ts";
import type { AllowedDestination, Connected } from "../firewall.ts";
import type { HttpDoor } from "../http-door.ts";
import { reset } from "../relay.ts";
import type { Authority } from "./authority.ts";
import { endTls } from "./end-tls.ts";
import { serveHttp2, type UpstreamTls } from "./http2-door.ts";
import { openTls } from "./open-tls.ts";
import { UpstreamAgent } from "./upstream-agent.ts";
import type { UpstreamTrust } from "./upstream-trust.ts";

export interface InspectorParts extends AdmitParts {
  http: HttpDoor;
  authority: () => Promise<Authority>;
  trust: UpstreamTrust;
  nowMs: () => number;
}

const http1 = "http/1.1";
const spoken = ["h2", http1];

export class Inspector {
  readonly #parts: InspectorParts;

  constructor(parts: InspectorParts) {
    this.#parts = parts;
  }

  /** Takes over a connection whose hello was read, and what was reached for it: what failed can be told inside its TLS. */
  async inspect(
    client: Duplex,
    allowed: AllowedDestination,
    offered: readonly string[],
    opened: Connected,
  ): Promise<void> {
    const { host } = allowed.destination;
    const offers = offered.length === 0 ? [http1] : spoken.filter((protocol) => offered.includes(protocol));
    if (offers.length === 0) {
      opened.upstream?.refuse("its ClientHello offers no HTTP, which alone can be looked into");
      return reset(client);
    }
    const reached = await this.#greet(allowed, offers, opened);
    const protocol = reached.refusal === undefined ? protocolOf(reached.socket) : (offers.at(-1) ?? http1);
    const authority = await this.#parts.authority();
    const program = await endTls(client, { host, protocol, authority, nowMs: this.#parts.nowMs() });
    if (program === undefined) {
      const reason = "the program ended its TLS; it may not trust the authority of its sandbox";
      if (reached.refusal === undefined) reached.upstream.destroy(new AppError("unavailable", reason));
      return reset(client);
    }
    if (protocol === "h2") serveHttp2(this.#parts, program, allowed, reached);
    else this.#serveHttp1(program, allowed, reached);
  }

  async #greet(
    allowed: AllowedDestination,
    offers: readonly string[],
    { upstream, refusal }: Connected,
  ): Promise<UpstreamTls> {
    if (upstream === undefined) return { refusal };
    const { destination } = allowed;
    try {
      const { context } = await this.#parts.trust.load();
      const socket = await openTls(upstream, destination.host, offers, context);
      if (offers.includes(protocolOf(socket))) return { socket, upstream };
      throw new AppError("unavailable", "the host supports none of the protocols that the program offers");
    } catch (error) {
      const reason = messageOf(error);
      upstream.destroy(new AppError("unavailable", reason));
      return { refusal: { kind: "failed", destination, reason, rule: null, layer: null } };
    }
  }

  #serveHttp1(program: TLSSocket, allowed: AllowedDestination, reached: UpstreamTls): void {
    const { http } = this.#parts;
    if (reached.refusal !== undefined) return http.serveInspected(program, allowed, reached);
    let { upstream } = reached;
    const agent = new UpstreamAgent(reached.socket, async () => {
      const again = await this.#again(allowed);
      upstream = again.upstream;
      return again.socket;
    });
    program.once("close", () => agent.destroy());
    http.serveInspected(program, allowed, { turn: new Turn(), next: () => agent.next(() => upstream.errored) });
  }

  async #again(allowed: AllowedDestination) {
    const opened = await this.#parts.firewall.connect(allowed, "inspected");
    const again = await this.#greet(allowed, [http1], opened);
    if (again.refusal === undefined) return again;
    throw new AppError(again.refusal.kind === "denied" ? "forbidden" : "unavailable", again.refusal.reason);
  }
}

function protocolOf(socket: TLSSocket): string {
  return socket.alpnProtocol === "h2" ? "h2" : http1;
}
