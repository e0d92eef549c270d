import { Duplex } from "node:stream";
import { AppError } from "../core/errors.ts";
import type { StraightTunnel } from "../core/tunnel.ts";
import { frameTypes, WireViolation } from "./frame.ts";
import { InputWindow } from "./input-window.ts";
import { wireLimits } from "./limits.ts";
import type { ReceiveBuffer } from "./receive-buffers.ts";
import type { Spot } from "./spot.ts";
import { parseExit } from "./stream.ts";
import type { StreamEnd } from "./stream-end.ts";
import type { TunnelFlow } from "./tunnel-flow.ts";

const outputChannel = 1;

/** The host's end of one connection of a sandbox. Offsets and windows are checked on every frame (S3). */
export class TunnelStream extends Duplex implements StraightTunnel, StreamEnd {
  readonly id: number;
  readonly local: Spot;
  readonly #flow: TunnelFlow;
  readonly #input: InputWindow;
  /** What the reader has no room for yet; none of it is credited. */
  readonly #pending: Buffer[] = [];
  #received = 0;
  #taken = 0;
  #credited = 0;
  #wanted = true;
  #take: ((chunk: Buffer, done: () => void) => boolean) | undefined;
  #outputEnded = false;
  #inputEnded = false;
  #done = false;

  constructor(id: number, local: Spot, flow: TunnelFlow) {
    super({ readableHighWaterMark: wireLimits.inputWindowBytes, writableHighWaterMark: wireLimits.inputWindowBytes });
    this.id = id;
    this.local = local;
    this.#flow = flow;
    this.#input = new InputWindow(id, flow.input, { budget: flow.budget });
    this.on("error", () => undefined); // what a sandbox does to its connections may not end the daemon
  }

  reset(): void {
    this.#drop();
    this.destroy();
  }

  override _read(): void {
    this.#wanted = true;
    for (let chunk = this.#pending.shift(); chunk !== undefined; chunk = this.#pending.shift()) {
      this.#hand(chunk);
      if (!this.#wanted) return;
    }
    if (this.#outputEnded) this.push(null);
  }

  #hand(chunk: Buffer): void {
    this.#wanted = this.push(chunk);
    this.#took(chunk.length);
  }

  #took(bytes: number): void {
    this.#taken += bytes;
    this.#flow.waiting(-bytes);
    if (this.#taken - this.#credited >= wireLimits.creditBytes) this.credit();
    else this.#flow.owes(this);
  }

  /** Tells the guest what was taken: it keeps no room for a connection all of whose bytes were. */
  credit(): void {
    if (this.#done || this.#outputEnded || this.#taken === this.#credited) return;
    this.#credited = this.#taken;
    this.#flow.send(frameTypes.credit, outputChannel, this.id, this.#taken);
  }

  sendNow(chunk: Buffer): number {
    return this.writableLength === 0 && this.writable ? this.#input.writeNow(chunk) : 0;
  }

  more(): Promise<void> | undefined {
    return this.#input.more();
  }

  receiveBy(take: (chunk: Buffer, done: () => void) => boolean): void {
    this.#take = take;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#input.write(chunk).then((taken) => done(taken ? null : this.#broken("EPIPE")), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#input.end();
    this.#inputEnded = true;
    done();
  }

  /** One that ended at both sides is left to the guest, which passes on what it still holds. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#flow.waiting(-this.#pending.splice(0).reduce((sum, chunk) => sum + chunk.length, 0));
    if (!this.#outputEnded || !this.#inputEnded) this.#drop();
    this.#input.close();
    done(error);
  }

  /** The program in the sandbox finds it reset. */
  #drop(): void {
    if (this.#done) return;
    this.#done = true;
    this.#input.forget();
    this.#flow.drop(this.id);
  }

  #broken(code: string): Error {
    const text = code === "EPIPE" ? "the program takes no more" : "the program has reset its connection";
    return Object.assign(new AppError("unavailable", text), { errno: code });
  }

  onData(channel: number, offset: number, chunk: Buffer, buffer?: ReceiveBuffer): void {
    if (channel !== outputChannel) throw new WireViolation(`data on channel ${channel}`);
    if (this.#outputEnded) throw new WireViolation("data after the end of its channel");
    if (offset !== this.#received) throw new WireViolation(`data at offset ${offset}, not ${this.#received}`);
    this.#received += chunk.length;
    if (this.#received - this.#credited > wireLimits.tunnelWindowBytes)
      throw new WireViolation("more data than its window allows");
    this.#flow.waiting(chunk.length);
    if (this.#passOn(chunk, buffer)) return;
    // Nobody says when a stream's reader is done with what it read: it gets a copy.
    const copy = buffer === undefined ? chunk : Buffer.from(chunk);
    if (this.#wanted) this.#hand(copy);
    else this.#pending.push(copy);
  }

  /** Whether it could go past this stream. */
  #passOn(chunk: Buffer, buffer?: ReceiveBuffer): boolean {
    if (this.#take === undefined || !this.#wanted || this.readableLength > 0 || this.destroyed) return false;
    buffer?.hold();
    const isTaken = this.#take(chunk, () => {
      buffer?.release();
      this.#took(chunk.length);
    });
    if (!isTaken) buffer?.release();
    return isTaken;
  }

  onStarted(): void {
    throw new WireViolation("a connection that starts twice");
  }

  onCredit(offset: number): void {
    this.#input.onCredit(offset);
  }

  onEnd(channel: number, offset: number): void {
    if (channel === 0) return this.#input.close();
    if (channel !== outputChannel) return;
    if (this.#outputEnded || offset !== this.#received)
      throw new WireViolation(`end at ${offset} of ${this.#received}`);
    this.#outputEnded = true;
    if (this.#wanted && this.#pending.length === 0) this.push(null);
  }

  onExit(payload: Buffer): void {
    const record = parseExit(payload);
    if (!this.#outputEnded) throw new WireViolation("an exit before the end of output");
    this.#drop();
    if (record.startError !== null) this.destroy(this.#broken("ECONNRESET"));
  }

  fail(error: AppError): void {
    this.#drop();
    this.destroy(error);
  }
}
