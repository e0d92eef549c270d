/** One way out: a connected socket, whose bytes are counted, slowed down and held up where that is due. */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { AppError } from "../core/errors.ts";
import { gateLimits } from "../core/gate-limits.ts";

/** Told of bytes before they go on; a promise holds them up, a rejection ends the connection. */
export interface Toll {
  up(bytes: number): Promise<void> | undefined;
  down(bytes: number): Promise<void> | undefined;
}

type Done = (error?: Error | null) => void;

export class Outlet extends Duplex {
  readonly #socket: Socket;
  readonly #toll: Toll;
  #held = false;
  #wanted = false;
  /** Why it ended, where whoever speaks on it knows better. */
  why: () => string | null = () => null;
  bytesUp = 0;
  bytesDown = 0;

  constructor(socket: Socket, toll: Toll) {
    super({ highWaterMark: gateLimits.bufferBytes, allowHalfOpen: true });
    this.#socket = socket;
    this.#toll = toll;
    socket.pause();
    socket.setTimeout(gateLimits.idleMs, () =>
      this.destroy(new AppError("timeout", "nobody said anything for too long")),
    );
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("end", () => this.push(null));
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => this.destroy());
  }

  #take(chunk: Buffer): void {
    this.bytesDown += chunk.length;
    if (!this.push(chunk)) {
      this.#wanted = false;
      this.#socket.pause();
    }
    const toll = this.#toll.down(chunk.length);
    if (toll === undefined) return;
    this.#held = true;
    this.#socket.pause();
    toll.then(
      () => {
        this.#held = false;
        if (this.#wanted) this.#socket.resume();
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
    if (!this.#held) this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: Done): void {
    this.bytesUp += chunk.length;
    const toll = this.#toll.up(chunk.length);
    if (toll === undefined) this.#send(chunk, done);
    else toll.then(() => this.#send(chunk, done), done);
  }

  #send(chunk: Buffer, done: Done): void {
    if (this.destroyed || this.#socket.write(chunk)) done();
    else this.#socket.once("drain", done);
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
