/** What stands between one sandbox and the world: the sandbox has no other network (S44). */

import type { Duplex } from "node:stream";
import type { Downloads } from "../core/download.ts";
import type { Destination, EgressLog, PolicySource } from "../core/egress.ts";
import type { Errand, ErrandResponse } from "../core/errand.ts";
import { AppError } from "../core/errors.ts";
import type { PackageHosts } from "../core/package.ts";
import type { HeaderSecrets } from "../core/secret.ts";
import type { Datagram, Tunnel, Tunnels } from "../core/tunnel.ts";
import { defined } from "../lib/defined.ts";
import { Once } from "../lib/once.ts";
import { type ApprovalSource, Asker } from "./ask.ts";
import type { World } from "./connect.ts";
import { decide } from "./decide.ts";
import { runErrand } from "./errand.ts";
import { type AllowedDestination, Firewall, type NameRedactor } from "./firewall.ts";
import { type ForwardParts, forwardConnected, forwardConnection } from "./forward-connection.ts";
import { gateLimits, gatePlaces } from "./gate-limits.ts";
import { HttpDoor } from "./http-door.ts";
import type { Authority } from "./inspection/authority.ts";
import { openAuthority } from "./inspection/authority-file.ts";
import { Credentials, type Notice } from "./inspection/credentials.ts";
import { Inspector } from "./inspection/inspector.ts";
import { SandboxTrust } from "./inspection/sandbox-trust.ts";
import type { UpstreamTrust } from "./inspection/upstream-trust.ts";
import { Listeners } from "./listeners.ts";
import { NameServer } from "./name-server.ts";
import { isNameAddress, NameTable } from "./name-table.ts";
import { RefusalWatches } from "./refusal-watches.ts";
import { reset } from "./relay.ts";
import { impliedProtocol } from "./rule-text.ts";
import { serveSocks } from "./socks-door.ts";
import type { UpstreamConnection } from "./upstream-connection.ts";

export interface GateParts {
  sandboxId: string;
  tunnels: Tunnels;
  /** A file that outlives its owner, for the addresses of names; null keeps them in memory. */
  namesPath: string | null;
  policies: PolicySource;
  log: EgressLog;
  /** Who is asked; nobody unless given. */
  asking?: () => ApprovalSource | undefined;
  world: World;
  /** Whom hosts are to prove their names to, where TLS is looked into. */
  trust: UpstreamTrust;
  /** A file that outlives its owner, for the authority of the sandbox; null keeps it in memory. */
  authorityPath: string | null;
  secrets?: HeaderSecrets;
  redactor: NameRedactor;
  /** Looks for values in what hosts answer. */
  notice: Notice;
  /** Files of registries; nothing is kept unless given. */
  downloads?: Downloads;
  /** Their refusal says how packages are installed. */
  packageHosts?: PackageHosts;
  nowMs: () => number;
  onError: (error: unknown) => void;
}

export class Gate {
  readonly #parts: GateParts;
  readonly #names: NameTable;
  readonly #firewall: Firewall;
  readonly #asker: Asker;
  readonly #credentials: Credentials;
  readonly #http: HttpDoor;
  readonly #forwarding: ForwardParts;
  readonly #authority = new Once<Authority>();
  /** What its programs are to trust. */
  readonly trust: SandboxTrust;
  /** Reports refusals to the runs under way. */
  readonly refusals = new RefusalWatches();
  readonly #nameServer: NameServer;
  readonly #listeners: Listeners;
  readonly #closed = new AbortController();
  readonly #unwatch: () => void;
  #connections = 0;
  #questions = 0;

  private constructor(parts: GateParts, names: NameTable) {
    this.#parts = parts;
    this.#names = names;
    const { sandboxId, policies, log, world, nowMs } = parts;
    this.#asker = new Asker(sandboxId, parts.asking ?? (() => undefined), this.#closed.signal);
    this.#firewall = new Firewall({
      sandboxId,
      policies,
      asker: this.#asker,
      log,
      redactor: parts.redactor,
      watches: this.refusals,
      world,
      packageHosts: parts.packageHosts ?? new Map(),
      nowMs,
    });
    const firewall = this.#firewall;
    const credentials = new Credentials(sandboxId, parts.secrets, parts.notice);
    this.#credentials = credentials;
    this.#http = new HttpDoor({
      ...{ firewall, credentials, alias: this.#alias, forwardConnected: this.#forwardConnected },
      ...defined({ downloads: parts.downloads }),
    });
    const authority = () => this.#authority.get(() => openAuthority(parts.authorityPath, nowMs()));
    const inspector = new Inspector({ firewall, credentials, http: this.#http, authority, trust: parts.trust, nowMs });
    this.trust = new SandboxTrust({
      tunnels: parts.tunnels,
      authority,
      host: parts.trust,
      policy: () => firewall.policy,
    });
    this.#forwarding = { firewall, inspector };
    this.#listeners = new Listeners(parts.tunnels, names, (tunnel) => this.#take(tunnel, this.#direct));
    this.#nameServer = new NameServer({
      firewall,
      names,
      attended: () => this.#asker.attended,
      prepare: (name) => this.#listeners.prepare(firewall.policy, name),
      exhausted: (name) => void firewall.note({ host: name, port: 0 }, "the sandbox has used up its names"),
    });
    this.#unwatch = policies.watch(sandboxId, () => {
      this.#run(this.#listeners.follow(firewall.policy));
      this.#run(this.trust.placed());
    });
  }

  /**
   * Returns when what must be listened to was asked for, which the guest does in order: nobody else can have these places
   * by the time user code runs (hazard 16). Where one cannot be had, that way out is missing, and told of.
   */
  static async open(parts: GateParts): Promise<Gate> {
    const gate = new Gate(parts, await NameTable.open(parts.namesPath));
    const { tunnels } = parts;
    const { address, dnsPort, proxyPort, socksPort } = gatePlaces;
    const opening = [
      tunnels.listenDatagrams(address, dnsPort, gate.#question),
      tunnels.listen(address, dnsPort, (tunnel) => gate.#take(tunnel, (client) => gate.#nameServer.serve(client))),
      tunnels.listen(address, proxyPort, (tunnel) => gate.#take(tunnel, (client) => gate.#http.serveProxy(client))),
      tunnels.listen(address, socksPort, (tunnel) => gate.#take(tunnel, gate.#socks)),
      gate.#listeners.follow(gate.#firewall.policy),
      gate.trust.placed(),
    ];
    for (const place of opening) gate.#run(place);
    return gate;
  }

  /** Connections to the world that are open. */
  get open(): number {
    return this.#firewall.open;
  }

  /** What is fetched on behalf of its sandbox. */
  run(errand: Errand): Promise<ErrandResponse> {
    return runErrand({ firewall: this.#firewall, credentials: this.#credentials, trust: this.#parts.trust }, errand);
  }

  #take(tunnel: Tunnel, serve: (tunnel: Tunnel) => Promise<void> | void): void {
    tunnel.on("error", () => undefined);
    if (this.#closed.signal.aborted || this.#connections >= gateLimits.connections) return reset(tunnel);
    this.#connections++;
    tunnel.once("close", () => this.#connections--);
    Promise.resolve(serve(tunnel)).catch((error: unknown) => {
      this.#parts.onError(error);
      reset(tunnel);
    });
  }

  /** What fails because the sandbox is lost is no news. */
  #run(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      const isLost = error instanceof AppError && error.code === "unavailable";
      if (!isLost && !this.#closed.signal.aborted) this.#parts.onError(error);
    });
  }

  readonly #question = ({ bytes }: Datagram, send: (bytes: Buffer) => void): void => {
    if (this.#questions >= gateLimits.questions) return; // whoever asked asks again
    this.#questions++;
    const answered = this.#nameServer.answer(bytes).then((answer) => answer !== undefined && send(answer));
    this.#run(answered.finally(() => this.#questions--));
  };

  /** A program that has looked up a name may hand its address to a proxy. */
  readonly #alias = ({ host, port }: Destination): Destination => ({ host: this.#names.nameOf(host) ?? host, port });

  readonly #forwardConnected = (
    client: Duplex,
    allowed: AllowedDestination,
    upstream: UpstreamConnection,
  ): Promise<void> => forwardConnected(this.#forwarding, client, allowed, upstream);

  readonly #socks = (client: Tunnel): Promise<void> =>
    serveSocks(
      {
        firewall: this.#firewall,
        alias: this.#alias,
        forwardConnected: this.#forwardConnected,
        serveDirect: (...direct) => this.#http.serveDirect(...direct),
      },
      client,
    );

  /** A connection to a name's own address. Where HTTP is spoken each request is judged, and a refusal can be told. */
  readonly #direct = async (client: Tunnel): Promise<void> => {
    const { address, port } = client.local;
    const host = isNameAddress(address) ? this.#names.nameOf(address) : undefined;
    if (host === undefined) return reset(client);
    const destination = { host, port };
    const verdict = decide(this.#firewall.policy, destination);
    const protocol = verdict.action === "allow" ? verdict.rule.protocol : impliedProtocol(port, false);
    if (protocol === "http") return this.#http.serveDirect(client, destination);
    const { allowed } = await this.#firewall.judge(destination);
    if (allowed === undefined) return reset(client);
    if (allowed.verdict.rule.protocol === "http") return this.#http.serveDirect(client, destination, allowed);
    await forwardConnection(this.#forwarding, client, allowed);
  };

  /** Breaks off what is open; the listeners end with the sandbox, or serve its next owner. */
  close(reason: string): void {
    this.#unwatch();
    this.#closed.abort();
    this.#firewall.close(reason);
  }
}
