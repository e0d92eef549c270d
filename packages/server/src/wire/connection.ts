import { randomBytes } from "node:crypto";
import { closeSync, constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { setImmediate as immediate } from "node:timers/promises";
import type { WirePaths } from "../core/engine.ts";
import { AppError, messageOf } from "../core/errors.ts";
import type { Tunnels } from "../core/tunnel.ts";
import {
  type Adopt,
  type HeldStream,
  type OutputListener,
  type StreamKind,
  type StreamSpec,
  type StreamState,
  streamKinds,
  type Wire,
  type WireConfiguration,
  type WireStream,
} from "../core/wire.ts";
import { FifoWriter } from "./fifo-writer.ts";
import { type FrameHeader, FrameParser, frameTypes, WireViolation } from "./frame.ts";
import { FrameSender } from "./frame-sender.ts";
import { HelloFinder } from "./hello.ts";
import { wireLimits } from "./limits.ts";
import { ReceiveBuffers } from "./receive-buffers.ts";
import { encodeConfiguration, encodeSpec } from "./spec.ts";
import { HostStream, parseState } from "./stream.ts";
import type { StreamEnd } from "./stream-end.ts";
import { WireTunnels } from "./tunnels.ts";

const payloadBytes = wireLimits.toGuestFrameBytes - wireLimits.headerBytes;
const specChannel = 3;
const helloBytes = 40;
/** No ping's number: the pong says that all before it was read. */
const pausePing = Number.MAX_SAFE_INTEGER;
const streamIdMost = 0xffff_ffff;
/** Twice what an owner opens: the guest holds an ended stream until its owner has said CLOSE. */
const guestStreams = 2 * wireLimits.streams + wireLimits.listeners;
const tunnelKinds: ReadonlySet<number> = new Set([streamKinds.listen, streamKinds.datagrams]);

/**
 * The host's end of the wire: everything it reads is hostile, and a frame that no honest guest sends ends this sandbox,
 * with a reason, and nothing else (S3).
 */
export class WireConnection implements Wire {
  readonly lost: Promise<string>;
  answeredMs = Number.NEGATIVE_INFINITY;
  readonly #lostGate = Promise.withResolvers<string>();
  readonly #socket: Socket;
  readonly #writer: FifoWriter;
  readonly #sender: FrameSender;
  readonly #toGuestFd: number;
  readonly #buffers = new ReceiveBuffers();
  readonly #streams = new Map<number, StreamEnd>();
  readonly #tunnels: WireTunnels;
  readonly #epoch = 1 + (randomBytes(2).readUInt16LE() % 0xfffe);
  readonly #nonce = randomBytes(16);
  readonly #helloGate = Promise.withResolvers<void>();
  #finder: HelloFinder | undefined = new HelloFinder(this.#nonce);
  #parser: FrameParser | undefined;
  #nextStream = 1;
  /** Streams of former owners: how many the guest named in its hello, and which have told their state. */
  #statesDue: number | undefined;
  readonly #known = new Set<number>();
  #lastPing = 0;
  readonly #pings = new Map<number, PromiseWithResolvers<void>>();
  #pauseGate: PromiseWithResolvers<"guest" | undefined> | undefined;
  #receivedBytes = 0;
  #pingTimer: NodeJS.Timeout | undefined;
  /** Counted in pings, not in time: an owner that was stopped for a minute asked nothing meanwhile. */
  #unanswered = 0;
  #reason: string | undefined;
  #adopt: Adopt;

  private constructor(paths: WirePaths, adopt: Adopt) {
    this.#adopt = adopt;
    this.lost = this.#lostGate.promise;
    this.#helloGate.promise.catch(() => undefined);
    const flags = constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOFOLLOW;
    this.#toGuestFd = openSync(paths.toGuestPath, flags);
    this.#socket = new Socket({
      fd: openSync(paths.fromGuestPath, flags),
      readable: true,
      writable: false,
      onread: { buffer: () => this.#buffers.current.bytes, callback: (size) => this.#receive(size) },
    });
    this.#writer = new FifoWriter(this.#toGuestFd, (reason) => this.close(reason));
    this.#sender = new FrameSender(this.#writer, this.#epoch);
    this.#tunnels = new WireTunnels({
      input: this.#sender,
      open: (kind, spec) => this.open(kind, spec, () => undefined),
      openEnd: (kind, spec, make) => this.#openEnd(kind, spec, make),
      replaceEnd: (id, end) => this.#streams.set(id, end),
      drop: (id) => this.#drop(id),
    });
    this.#socket.on("error", (error) => this.close(`the wire cannot be read: ${error.message}`));
  }

  /** Opens the wire of a sandbox and waits until its guest answers this owner's nonce. */
  static async attach(
    paths: WirePaths,
    died: Promise<string>,
    adopt: Adopt = () => undefined,
  ): Promise<WireConnection> {
    const wire = new WireConnection(paths, adopt);
    void died.catch(messageOf).then((reason) => wire.close(reason));
    const timer = setTimeout(() => wire.close("the guest did not answer"), wireLimits.helloTimeoutMs);
    try {
      wire.#sender.send(frameTypes.resync, 0, 0, 0, wire.#nonce);
      await wire.#helloGate.promise;
    } finally {
      clearTimeout(timer);
    }
    wire.#keepPinging();
    return wire;
  }

  open(kind: StreamKind, spec: StreamSpec, listener: OutputListener): WireStream {
    return this.#open(kind, spec, listener, false);
  }

  openHeld(kind: StreamKind, spec: StreamSpec, listener: OutputListener): HeldStream {
    return this.#open(kind, spec, listener, true);
  }

  get tunnels(): Tunnels {
    return this.#tunnels;
  }

  #open(kind: StreamKind, spec: StreamSpec, listener: OutputListener, held: boolean): HostStream {
    if (this.#streams.size - this.#tunnels.count >= wireLimits.streams)
      throw new AppError("limit_exceeded", `more than ${wireLimits.streams} things at once in one sandbox`);
    return this.#openEnd(kind, spec, (id) => this.#hostStream(id, listener, held));
  }

  #hostStream(id: number, listener: OutputListener, held: boolean, state?: StreamState): HostStream {
    return new HostStream(id, listener, this.#sender, held, state);
  }

  #openEnd<End extends StreamEnd>(kind: StreamKind, spec: StreamSpec, make: (id: number) => End): End {
    if (this.#reason !== undefined) throw this.#lostError(this.#reason);
    const bytes = encodeSpec(spec);
    if (bytes.length > wireLimits.specBytes)
      throw new AppError("too_large", `${bytes.length} bytes for one start are past ${wireLimits.specBytes}`);
    if (this.#sender.queued + bytes.length / payloadBytes > wireLimits.queuedFramesOfSpecs)
      throw new AppError("limit_exceeded", "too much is on its way into this sandbox", { retryAfterMs: 1_000 });
    if (this.#nextStream > streamIdMost) throw new AppError("limit_exceeded", "this sandbox has no stream id left");
    const id = this.#nextStream++;
    const end = make(id);
    this.#streams.set(id, end);
    this.#sender.send(frameTypes.open, streamKinds[kind], id, bytes.length, bytes.subarray(0, payloadBytes));
    for (let at = payloadBytes; at < bytes.length; at += payloadBytes)
      this.#sender.send(frameTypes.data, specChannel, id, at, bytes.subarray(at, at + payloadBytes));
    return end;
  }

  #drop(id: number): void {
    if (this.#streams.delete(id)) this.#sender.send(frameTypes.close, 0, id, 0);
  }

  configure(configuration: WireConfiguration): void {
    this.#sender.send(frameTypes.config, 0, 0, 0, encodeConfiguration(configuration));
  }

  async ping(timeoutMs: number): Promise<void> {
    if (this.#reason !== undefined) throw this.#lostError(this.#reason);
    const gate = Promise.withResolvers<void>();
    const number = this.#sendPing();
    this.#pings.set(number, gate);
    const timer = setTimeout(
      () => gate.reject(new AppError("timeout", `the guest did not answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    try {
      await gate.promise;
    } finally {
      clearTimeout(timer);
      this.#pings.delete(number);
    }
  }

  /** Numbered: a guest that reads several answers the last. */
  #sendPing(): number {
    this.#sender.send(frameTypes.ping, 0, 0, ++this.#lastPing);
    return this.#lastPing;
  }

  #ponged(number: number): void {
    this.#unanswered = 0;
    this.answeredMs = performance.now();
    if (number === pausePing) this.#pauseGate?.resolve("guest");
    for (const [asked, gate] of this.#pings) if (asked <= number) gate.resolve();
  }

  async pause(answered?: () => void): Promise<void> {
    clearInterval(this.#pingTimer);
    this.#pingTimer = undefined;
    this.#pauseGate = Promise.withResolvers();
    if (answered !== undefined) void this.#pauseGate.promise.then((by) => by === "guest" && answered());
    const timer = setTimeout(() => this.#pauseGate?.resolve(undefined), wireLimits.pauseTimeoutMs);
    this.#sender.send(frameTypes.ping, 0, 0, pausePing);
    await this.#pauseGate.promise;
    clearTimeout(timer);
    this.#pauseGate = undefined;
  }

  /** As pause, and nothing reaches the guest any more: false when it did not say that it has taken all of before. */
  async still(): Promise<boolean> {
    let answered = false;
    const paused = this.pause(() => {
      answered = true;
    });
    this.#writer.hold();
    await paused;
    return answered && this.#reason === undefined;
  }

  /** Of a guest that has ended: resolves when all it wrote was read. A FIFO with bytes is read once a turn of the loop. */
  async drained(): Promise<void> {
    for (let before = -1; before !== this.#receivedBytes; ) {
      before = this.#receivedBytes;
      await immediate();
      await immediate();
    }
  }

  resume(): void {
    this.#writer.go();
    if (this.#reason !== undefined || this.#pingTimer !== undefined) return;
    this.#keepPinging();
    this.#sendPing();
  }

  #keepPinging(): void {
    this.#unanswered = 0;
    this.#pingTimer = setInterval(() => this.#ping(), wireLimits.pingIntervalMs);
  }

  close(reason: string): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.answeredMs = Number.NEGATIVE_INFINITY;
    clearInterval(this.#pingTimer);
    this.#writer.close();
    this.#socket.destroy();
    closeSync(this.#toGuestFd);
    const error = this.#lostError(reason);
    this.#pauseGate?.resolve(undefined);
    for (const gate of this.#pings.values()) gate.reject(error);
    this.#helloGate.reject(error);
    this.#tunnels.close();
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    for (const stream of streams) stream.fail(error);
    this.#lostGate.resolve(reason);
  }

  #lostError(reason: string): AppError {
    return new AppError("unavailable", `the sandbox is lost: ${reason}`, { details: { sandbox_lost: true } });
  }

  #ping(): void {
    if (this.#unanswered * wireLimits.pingIntervalMs > wireLimits.pongTimeoutMs)
      return this.close("the guest no longer answers");
    this.#unanswered++;
    this.#sendPing();
  }

  #receive(size: number): boolean {
    const chunk = this.#buffers.current.bytes.subarray(0, size);
    this.#receivedBytes += size;
    this.#sender.gatherCredits();
    try {
      if (this.#finder !== undefined) this.#findHello(this.#finder, chunk);
      else this.#parser?.push(chunk);
    } catch (error) {
      if (!(error instanceof WireViolation)) throw error;
      this.close(`the guest sent ${error.message}`);
    } finally {
      this.#sender.giveCredits();
    }
    this.#writer.retry();
    this.#buffers.turn();
    return true;
  }

  #findHello(finder: HelloFinder, chunk: Buffer): void {
    const rest = finder.push(chunk);
    if (rest === undefined) return;
    this.#finder = undefined;
    this.#parser = new FrameParser(this.#epoch, {
      data: (stream, channel, offset, piece) => {
        if (this.#reason !== undefined) return; // the rest of a chunk whose earlier frame ended the wire
        const buffer = this.#buffers.current;
        // What is small is copied, so that whoever holds it holds no large buffer; and all where many are held.
        if (piece.length <= wireLimits.receiveCopyBytes || buffer.scarce)
          this.#stream(stream)?.onData(channel, offset, Buffer.from(piece));
        else this.#stream(stream)?.onData(channel, offset, piece, buffer);
      },
      control: (header, payload) => this.#control(header, payload),
    });
    this.#parser.push(rest);
  }

  #control(header: FrameHeader, payload: Buffer): void {
    if (this.#reason !== undefined) return;
    switch (header.type) {
      case frameTypes.hello:
        return this.#hello(payload);
      case frameTypes.pong:
        return this.#ponged(header.offset);
      case frameTypes.error:
        return this.#failure(header, payload);
      case frameTypes.state:
        return this.#adoptStream(header.stream, payload);
      case frameTypes.started:
        return this.#stream(header.stream)?.onStarted(header.offset, payload);
      case frameTypes.credit:
        return this.#stream(header.stream)?.onCredit(header.offset);
      case frameTypes.end:
        return this.#stream(header.stream)?.onEnd(header.channel, header.offset);
      case frameTypes.exit: {
        // A record that is refused ends the wire, and the stream with it: it must still be known then.
        this.#stream(header.stream)?.onExit(payload);
        this.#streams.delete(header.stream);
        return;
      }
      default:
        throw new WireViolation(`a frame of type ${header.type} out of turn`);
    }
  }

  #hello(payload: Buffer): void {
    if (payload.length < helloBytes || !payload.subarray(0, 16).equals(this.#nonce))
      throw new WireViolation("a hello of another owner");
    const version = payload.readUInt32LE(16);
    if (version !== wireLimits.version)
      throw new WireViolation(`version ${version} of the wire, not ${wireLimits.version}`);
    const highest = payload.readUInt32LE(32);
    const live = payload.readUInt32LE(36);
    if (this.#statesDue !== undefined || live > guestStreams) throw new WireViolation(`a hello with ${live} streams`);
    this.#nextStream = highest + 1;
    this.#statesDue = live;
    this.answeredMs = performance.now();
    this.#attachedWhenAllKnown();
  }

  #attachedWhenAllKnown(): void {
    if (this.#statesDue === this.#known.size) this.#helloGate.resolve();
  }

  #adoptStream(id: number, payload: Buffer): void {
    if (id === 0 || id >= this.#nextStream || this.#known.has(id) || this.#known.size === this.#statesDue)
      throw new WireViolation(`the state of stream ${id} out of turn`);
    this.#known.add(id);
    const state = parseState(id, payload);
    if (tunnelKinds.has(state.kind)) this.#adoptListener(state);
    else this.#adoptRun(state);
    this.#attachedWhenAllKnown();
  }

  #adoptListener(state: StreamState): void {
    const end = this.#tunnels.adopt(state);
    if (end === undefined) this.#sender.send(frameTypes.close, 0, state.id, 0);
    else this.#streams.set(state.id, end);
  }

  #adoptRun(state: StreamState): void {
    let listener: OutputListener | undefined;
    const receive: OutputListener = (channel, chunk) => listener?.(channel, chunk);
    const stream = this.#hostStream(state.id, receive, true, state);
    listener = this.#adopt(state, stream);
    if (listener === undefined) this.#sender.send(frameTypes.close, 0, state.id, 0);
    else this.#streams.set(state.id, stream);
  }

  #failure(header: FrameHeader, payload: Buffer): void {
    const text = payload.toString("utf8").replaceAll(/[^\x20-\x7e]/g, "?");
    if (header.stream === 0) return this.close(`the guest says: ${text} (errno ${header.offset})`);
    const stream = this.#stream(header.stream);
    this.#streams.delete(header.stream);
    this.#sender.send(frameTypes.close, 0, header.stream, 0); // the guest holds what it refused, or still runs it
    stream?.fail(new AppError("unavailable", `the guest refused: ${text} (errno ${header.offset})`));
  }

  /** Undefined for a stream that ended while the frame was under way. */
  #stream(id: number): StreamEnd | undefined {
    if (id === 0 || id >= this.#nextStream) throw new WireViolation(`a frame of stream ${id}, which was never opened`);
    return this.#streams.get(id);
  }
}
