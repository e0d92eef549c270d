import type { LayeredPolicy } from "../core/egress.ts";
import type { Tunnel, TunnelListener, Tunnels } from "../core/tunnel.ts";
import { gateLimits, gatePlaces } from "./gate-limits.ts";
import { matchesHost } from "./match.ts";
import type { NameTable } from "./name-table.ts";

/** Where a sandbox's programs can connect to names directly: low ports on every address, others on a name's own (hazard 22). */
export class Listeners {
  readonly #tunnels: Tunnels;
  readonly #names: NameTable;
  readonly #accept: (tunnel: Tunnel) => void;
  readonly #open = new Map<string, Promise<TunnelListener | null>>();

  constructor(tunnels: Tunnels, names: NameTable, accept: (tunnel: Tunnel) => void) {
    this.#tunnels = tunnels;
    this.#names = names;
    this.#accept = accept;
  }

  /** Listens on what the policy names, for every name that has an address. */
  async follow(layers: LayeredPolicy): Promise<void> {
    const ports = new Set([...gatePlaces.webPorts, ...portsOf(layers)].filter(isShared));
    const wanted = [...ports].map((port) => ["0.0.0.0", port] as const);
    const named = this.#names.names.flatMap((name) => this.#placesOf(layers, name));
    this.#forget(new Set([...wanted, ...named].map(([address, port]) => `${address}:${port}`)));
    await Promise.all([...wanted, ...named].map(([address, port]) => this.#listen(address, port)));
  }

  /** Before a name's address is told. */
  async prepare(layers: LayeredPolicy, name: string): Promise<void> {
    await Promise.all(this.#placesOf(layers, name).map(([address, port]) => this.#listen(address, port)));
  }

  #placesOf(layers: LayeredPolicy, name: string): (readonly [string, number])[] {
    const address = this.#names.known(name);
    if (address === undefined) return [];
    const ports = new Set(portsOf(layers, name).filter((port) => !isShared(port)));
    return [...ports].map((port) => [address, port] as const);
  }

  /** Null where a program has the place: that name and port are reached through the proxy then. */
  #listen(address: string, port: number): Promise<TunnelListener | null> {
    const key = `${address}:${port}`;
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    if (this.#open.size >= gateLimits.nameListeners) return Promise.resolve(null);
    const opening = this.#tunnels.listen(address, port, this.#accept).catch(() => {
      this.#open.delete(key); // tried again when the name is asked for
      return null;
    });
    this.#open.set(key, opening);
    return opening;
  }

  #forget(wanted: ReadonlySet<string>): void {
    for (const [key, opening] of this.#open) {
      if (wanted.has(key)) continue;
      this.#open.delete(key);
      void opening.then((listener) => listener?.close());
    }
  }
}

/** That of the resolver is taken on one address, so that none can have it on all. */
function isShared(port: number): boolean {
  return port < gatePlaces.privilegedPorts && port !== gatePlaces.dnsPort;
}

function portsOf(layers: LayeredPolicy, name?: string): number[] {
  const rules = layers.flatMap(({ policy }) => policy.allow);
  return rules.filter((rule) => name === undefined || matchesHost(rule.host, name)).map((rule) => rule.port);
}
