import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from "node:net";
import type { Datagram, Tunnel, TunnelListener, Tunnels } from "../../packages/server/src/core/tunnel.ts";

type Receive = (datagram: Datagram, send: (bytes: Buffer) => void) => void;

/** A sandbox's loopback without a sandbox: every place is a name, and each connection a real one of this machine. */
export class LoopbackTunnels implements Tunnels, AsyncDisposable {
  readonly #servers = new Map<string, Server>();
  readonly #receivers = new Map<string, Receive>();
  readonly #sockets = new Set<Socket>();
  readonly #opening: Promise<unknown>[] = [];

  get places(): string[] {
    return [...this.#servers.keys(), ...this.#receivers.keys()].sort();
  }

  listen(address: string, port: number, accept: (tunnel: Tunnel) => void): Promise<TunnelListener> {
    const listening = this.#listen(address, port, accept);
    this.#opening.push(listening.catch(() => undefined));
    return listening;
  }

  /** When all that was listened to so far is. */
  async settled(): Promise<void> {
    await Promise.all(this.#opening);
  }

  async #listen(address: string, port: number, accept: (tunnel: Tunnel) => void): Promise<TunnelListener> {
    const key = `${address}:${port}`;
    if (this.#servers.has(key)) throw Object.assign(new Error("taken"), { code: "EADDRINUSE" });
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      const local = this.#reached.shift() ?? { address, port };
      accept(Object.assign(socket, { local, reset: () => void socket.resetAndDestroy() }));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    this.#servers.set(key, server);
    return {
      address,
      port,
      close: () => {
        this.#servers.delete(key);
        server.close();
      },
    };
  }

  readonly #reached: { address: string; port: number }[] = [];

  async listenDatagrams(address: string, port: number, receive: Receive): Promise<TunnelListener> {
    const key = `udp ${address}:${port}`;
    this.#receivers.set(key, receive);
    return { address, port, close: () => this.#receivers.delete(key) };
  }

  /** As a program does. */
  async connect(address: string, port: number): Promise<Socket> {
    const server = this.#servers.get(`${address}:${port}`) ?? this.#servers.get(`0.0.0.0:${port}`);
    if (server === undefined) throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    this.#reached.push({ address, port });
    const socket = createConnection({
      port: (server.address() as AddressInfo).port,
      host: "127.0.0.1",
      allowHalfOpen: true,
    });
    socket.on("error", () => undefined);
    this.#sockets.add(socket);
    // One that is reset at once was connected too.
    await Promise.race(["connect", "close"].map((event) => new Promise((resolve) => socket.once(event, resolve))));
    return socket;
  }

  send(address: string, port: number, bytes: Buffer): Promise<Buffer> {
    const receive = this.#receivers.get(`udp ${address}:${port}`);
    return new Promise((resolve) => receive?.({ from: { address: "127.0.0.1", port: 1 }, bytes }, resolve));
  }

  /** The same, without waiting for an answer. */
  tell(address: string, port: number, bytes: Buffer): void {
    this.#receivers.get(`udp ${address}:${port}`)?.(
      { from: { address: "127.0.0.1", port: 1 }, bytes },
      () => undefined,
    );
  }

  dial(): Promise<Tunnel> {
    throw new Error("nobody listens here");
  }

  /** Files inside, by their paths below /run. */
  readonly placed = new Map<string, string>();

  async place(folder: string, name: string, bytes: Buffer | null): Promise<void> {
    if (bytes === null) this.placed.delete(`${folder}/${name}`);
    else this.placed.set(`${folder}/${name}`, bytes.toString());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers.values()) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
