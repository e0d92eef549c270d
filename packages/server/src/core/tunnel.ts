/** Connections of a sandbox, as streams on its wire. */
import type { Duplex } from "node:stream";

/** A TCP connection that a program in the sandbox has opened to one of its listeners, or that was opened to a program. */
export interface Tunnel extends Duplex {
  /** Address in the sandbox at which it was reached. */
  readonly local: { address: string; port: number };
  /** The other side gets ECONNRESET, not an end of file. */
  reset(): void;
}

/** One whose bytes can go past the buffers of its stream, uncopied: what the stream holds already goes first. */
export interface StraightTunnel extends Tunnel {
  /** Sends to the program what there is room for, and says how much that was. The chunk is its caller's again. */
  sendNow(chunk: Buffer): number;
  /** Undefined while there is room for a large chunk; else resolves when there may be, or nobody takes more. */
  more(): Promise<void> | undefined;
  /** Passes the program's bytes to `take` while it returns true; each chunk is in use until `done` is called. */
  receiveBy(take: (chunk: Buffer, done: () => void) => boolean): void;
}

export interface Datagram {
  /** Opaque: of whom to answer. */
  from: { address: string; port: number };
  bytes: Buffer;
}

/** Ends when its owner closes it, or the sandbox ends. A port below 1024 stays the guest's: connections to it are reset then. */
export interface TunnelListener {
  readonly address: string;
  readonly port: number;
  close(): void;
}

/** Connections over a sandbox's wire. All addresses are in the sandbox's own loopback. */
export interface Tunnels {
  /**
   * Listens inside, as the guest, before user code can take the place. A connection comes to `accept`; nobody else can hold
   * the address then. A listener of a former owner is taken over. A place that is taken is a `conflict`, with the errno in
   * its details.
   */
  listen(address: string, port: number, accept: (tunnel: Tunnel) => void): Promise<TunnelListener>;
  /** A UDP socket inside; answers go by `send`, lost when the sandbox does not take them. */
  listenDatagrams(
    address: string,
    port: number,
    receive: (datagram: Datagram, send: (bytes: Buffer) => void) => void,
  ): Promise<TunnelListener>;
  /** To a program that listens on 127.0.0.1 or ::1; refused for every place that the guest itself listens on (hazard 17). */
  dial(port: number): Promise<Tunnel>;
  /** Puts a file that user code can read and not change: /run/secrets/NAME or /run/caisson/NAME, root:1000 0440. Null takes it away. */
  place(folder: "secrets" | "caisson", name: string, bytes: Buffer | null): Promise<void>;
}
