import { AppError } from "../core/errors.ts";
import type { Datagram, Tunnel, TunnelListener, Tunnels } from "../core/tunnel.ts";
import { type StreamKind, type StreamSpec, type StreamState, streamKinds, type WireStream } from "../core/wire.ts";
import { AwaitedStream } from "./awaited-stream.ts";
import { DatagramStream } from "./datagram-stream.ts";
import { WireViolation } from "./frame.ts";
import { InputBudget, type InputWire, type SendFrame } from "./input-window.ts";
import { wireLimits } from "./limits.ts";
import { ListenerStream } from "./listener-stream.ts";
import { placed } from "./placed.ts";
import { isPort, packSpot, unpackSpot } from "./spot.ts";
import type { StreamEnd } from "./stream-end.ts";
import type { TunnelFlow } from "./tunnel-flow.ts";
import { TunnelStream } from "./tunnel-stream.ts";

/** What tunnels need of the wire they are on. */
export interface TunnelWire {
  readonly input: InputWire;
  open(kind: StreamKind, spec: StreamSpec): WireStream;
  /** Opens a stream whose end is made for its id; the frame goes out with those of this turn. */
  openEnd<End extends StreamEnd>(kind: StreamKind, spec: StreamSpec, make: (id: number) => End): End;
  replaceEnd(id: number, end: StreamEnd): void;
  drop(id: number): void;
}

/** Ports below are not for programs. */
const firstUserPort = 1024;

type Accept = (tunnel: Tunnel) => void;

/**
 * Connections of one sandbox. The owner opens every stream: a few that await connections are held ready, and the guest
 * binds each connection to the next of them, so that nothing is allocated by a guest's word.
 */
export class WireTunnels implements Tunnels, TunnelFlow {
  readonly #wire: TunnelWire;
  readonly #listeners = new Map<number, ListenerStream>();
  readonly #datagrams = new Map<number, DatagramStream>();
  readonly budget = new InputBudget();
  readonly #owing = new Set<TunnelStream>();
  #owingTimer: NodeJS.Timeout | undefined;
  #connections = 0;
  #awaited = 0;
  #awaitedWish: number = wireLimits.awaited;
  #waitingBytes = 0;

  constructor(wire: TunnelWire) {
    this.#wire = wire;
  }

  /** Streams of the wire that are not for runs and files. */
  get count(): number {
    return this.#listeners.size + this.#datagrams.size + this.#connections;
  }

  async listen(address: string, port: number, accept: Accept): Promise<TunnelListener> {
    const spot = packSpot({ address, port });
    let listener = this.#adopted(this.#listeners, spot);
    if (listener === undefined) {
      this.#checkListeners();
      listener = this.#wire.openEnd("listen", { spot }, (id) => new ListenerStream(id, spot, () => this.#forget(id)));
      this.#listeners.set(listener.id, listener);
    }
    listener.take = accept;
    this.#await();
    return this.#listening(listener);
  }

  async listenDatagrams(
    address: string,
    port: number,
    receive: (datagram: Datagram, send: (bytes: Buffer) => void) => void,
  ): Promise<TunnelListener> {
    const spot = packSpot({ address, port });
    let listener = this.#adopted(this.#datagrams, spot);
    if (listener === undefined) {
      this.#checkListeners();
      listener = this.#wire.openEnd(
        "datagrams",
        { spot },
        (id) => new DatagramStream(id, spot, this, () => this.#forget(id)),
      );
      this.#datagrams.set(listener.id, listener);
    }
    listener.take = receive;
    return this.#listening(listener);
  }

  async dial(port: number): Promise<Tunnel> {
    if (!isPort(port)) throw new AppError("invalid", `${port} is no port`);
    this.#checkConnections();
    const gate = Promise.withResolvers<Tunnel>();
    this.#connections++;
    const dialed = this.#wire.openEnd(
      "dial",
      { spot: port },
      (id) =>
        new AwaitedStream(id, `port ${port} of the sandbox`, {
          connected: (spot) => {
            const { address } = unpackSpot(spot);
            gate.resolve(this.#connect(id, { address: address === "0.0.0.0" ? "::1" : address, port }));
          },
          failed: (error) => {
            this.drop(id);
            gate.reject(error);
          },
        }),
    );
    const timer = setTimeout(
      () => dialed.fail(new AppError("timeout", `port ${port} of the sandbox takes no connection`)),
      wireLimits.dialTimeoutMs,
    );
    return gate.promise.finally(() => clearTimeout(timer));
  }

  async place(folder: "secrets" | "caisson", name: string, bytes: Buffer | null): Promise<void> {
    const spec = { path: `${folder}/${name}`, ...(bytes === null ? { gone: true } : {}) };
    await placed(this.#wire.open("place", spec), spec.path, bytes);
  }

  /** A listener of a former owner: it is this owner's from now on, whether it is asked for again or not. */
  adopt(state: StreamState): StreamEnd | undefined {
    if (state.finished || this.#listeners.size + this.#datagrams.size >= wireLimits.listeners) return undefined;
    if (state.kind === streamKinds.listen) {
      const listener = new ListenerStream(state.id, state.spot, () => this.#forget(state.id), true);
      this.#listeners.set(state.id, listener);
      return listener;
    }
    if (state.kind !== streamKinds.datagrams) return undefined;
    const datagrams = new DatagramStream(state.id, state.spot, this, () => this.#forget(state.id), state);
    this.#datagrams.set(state.id, datagrams);
    return datagrams;
  }

  #adopted<End extends { spot: number; claimed: boolean }>(
    all: ReadonlyMap<number, End>,
    spot: number,
  ): End | undefined {
    return [...all.values()].find((one) => one.spot === spot && !one.claimed);
  }

  #checkListeners(): void {
    if (this.#listeners.size + this.#datagrams.size >= wireLimits.listeners)
      throw new AppError("limit_exceeded", `more than ${wireLimits.listeners} places of a sandbox to listen at`);
  }

  #checkConnections(): void {
    if (this.#connections >= wireLimits.tunnels)
      throw new AppError("limit_exceeded", `more than ${wireLimits.tunnels} connections of a sandbox at once`);
  }

  async #listening(listener: ListenerStream | DatagramStream): Promise<TunnelListener> {
    listener.claimed = true;
    await listener.ready;
    const { address, port } = unpackSpot(listener.spot);
    return { address, port, close: () => (port < firstUserPort ? this.#retire(listener) : this.#forget(listener.id)) };
  }

  /**
   * The place stays the guest's: connections that were made there block it for a minute, in which it could not listen again.
   * Programs have no use for it.
   */
  #retire(listener: ListenerStream | DatagramStream): void {
    listener.claimed = false;
    listener.take = undefined;
  }

  #forget(id: number): void {
    if (this.#listeners.delete(id) || this.#datagrams.delete(id)) this.#wire.drop(id);
  }

  /** Holds streams ready for connections: more of them once all were taken before the next could be opened. */
  #await(): void {
    while (this.#awaited < this.#awaitedWish && this.#connections < wireLimits.tunnels) {
      this.#awaited++;
      this.#connections++;
      this.#wire.openEnd(
        "accept",
        {},
        (id) =>
          new AwaitedStream(id, "a connection", {
            connected: (spot, listener) => this.#accepted(id, spot, listener),
            failed: () => {
              this.#awaited--;
              this.drop(id);
            },
          }),
      );
    }
  }

  #accepted(id: number, spot: number, of: number): void {
    this.#awaited--;
    if (this.#awaited === 0) this.#awaitedWish = Math.min(2 * this.#awaitedWish, wireLimits.awaitedMost);
    const tunnel = this.#connect(id, unpackSpot(spot));
    const accept = this.#listeners.get(of)?.take;
    if (accept === undefined) tunnel.reset();
    else accept(tunnel);
    this.#await();
  }

  #connect(id: number, local: { address: string; port: number }): TunnelStream {
    const tunnel = new TunnelStream(id, local, this);
    this.#wire.replaceEnd(id, tunnel);
    return tunnel;
  }

  get input(): InputWire {
    return this.#wire.input;
  }

  get send(): SendFrame {
    return this.#wire.input.send;
  }

  /** Of an honest guest's, which has so much room in all. */
  waiting(bytes: number): void {
    this.#waitingBytes += bytes;
    if (this.#waitingBytes > wireLimits.tunnelsBytes + this.#connections * wireLimits.smallRingBytes)
      throw new WireViolation("more data of connections than their windows allow");
  }

  owes(stream: TunnelStream): void {
    this.#owing.add(stream);
    this.#owingTimer ??= setTimeout(() => {
      this.#owingTimer = undefined;
      for (const one of this.#owing) one.credit();
      this.#owing.clear();
    }, wireLimits.creditDelayMs).unref();
  }

  drop(id: number): void {
    this.#connections--;
    this.#wire.drop(id);
    this.#await();
  }

  close(): void {
    clearTimeout(this.#owingTimer);
    this.#awaitedWish = 0;
  }
}
