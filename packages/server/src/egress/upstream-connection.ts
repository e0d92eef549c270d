/** One way out: a connected socket, whose bytes are counted, slowed down and held up where that is due. */
import { Duplex } from "node:stream";
import { AppError } from "../core/errors.ts";
import type { StraightTunnel } from "../core/tunnel.ts";
import { gateLimits } from "./gate-limits.ts";
import type { OutboundSocket } from "./outbound-socket.ts";

/** Told of bytes before they go on; a promise holds them up, a rejection ends the connection. */
export interface Throttle {
  up(bytes: number): Promise<void> | undefined;
  down(bytes: number): Promise<void> | undefined;
}

type Done = (error?: Error | null) => void;

export class UpstreamConnection extends Duplex {
  readonly #socket: OutboundSocket;
  readonly #throttle: Throttle;
  #tunnel: StraightTunnel | undefined;
  #holds = 0;
  #wanted = false;
  /** Why it ended, where whoever speaks on it knows better. */
  why: () => string | null = () => null;
  bytesUp = 0;
  bytesDown = 0;

  constructor(socket: OutboundSocket, throttle: Throttle) {
    super({ highWaterMark: gateLimits.bufferBytes, allowHalfOpen: true });
    this.#socket = socket;
    this.#throttle = throttle;
    socket.setTimeout(gateLimits.idleMs, () =>
      this.destroy(new AppError("timeout", "the connection was idle for too long")),
    );
    socket.receive = (chunk) => this.#take(chunk);
    socket.on("end", () => this.push(null));
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => this.destroy());
  }

  /** Both ways, what can go straight does; what cannot goes through the stream as ever. */
  joinStraight(tunnel: StraightTunnel): void {
    this.#tunnel = tunnel;
    tunnel.receiveBy((chunk, done) => {
      if (!this.writable) return false;
      this.write(chunk, done);
      return true;
    });
  }

  #take(chunk: Buffer): boolean {
    this.bytesDown += chunk.length;
    const passed = this.readableLength === 0 ? (this.#tunnel?.sendNow(chunk) ?? 0) : 0;
    if (passed < chunk.length && !this.push(Buffer.from(chunk.subarray(passed)))) {
      this.#wanted = false;
      this.#socket.pause();
    }
    this.#holdFor(this.#throttle.down(chunk.length));
    this.#holdFor(this.#tunnel?.more());
    return passed === chunk.length;
  }

  #holdFor(wait: Promise<void> | undefined): void {
    if (wait === undefined) return;
    this.#holds++;
    this.#socket.pause();
    wait.then(
      () => {
        this.#holds--;
        if (this.#wanted && this.#holds === 0) this.#socket.resume();
      },
      (error: Error) => this.destroy(error),
    );
  }

  /** Breaks it off; the reason is written down. */
  refuse(reason: string): void {
    this.destroy(new AppError("forbidden", reason));
  }

  override _read(): void {
    this.#wanted = true;
    if (this.#holds === 0) this.#socket.resume();
  }

  /** Done when the chunk is the system's: it may lie where the wire is read into. */
  override _write(chunk: Buffer, _encoding: string, done: Done): void {
    this.bytesUp += chunk.length;
    const held = this.#throttle.up(chunk.length);
    if (held === undefined) this.#socket.write(chunk, done);
    else held.then(() => this.#socket.write(chunk, done), done);
  }

  override _final(done: Done): void {
    this.#socket.end();
    done();
  }

  /** With an error the other side is told by a reset, so that it does not take what it has for all. */
  override _destroy(error: Error | null, done: Done): void {
    if (error === null) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
    done(error);
  }
}
