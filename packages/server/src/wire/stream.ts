import { AppError } from "../core/errors.ts";
import type { ExitRecord, HeldStream, OutputChannel, OutputListener, StreamState, TerminalSize } from "../core/wire.ts";
import { frameTypes, readU64, WireViolation } from "./frame.ts";
import { InputWindow, type InputWire, type SendFrame } from "./input-window.ts";
import { wireLimits } from "./limits.ts";
import type { ReceiveBuffer } from "./receive-buffers.ts";
import { packSize } from "./spec.ts";

const channels = { stdin: 0, stdout: 1, stderr: 2 } as const;
const channelNames: Record<number, OutputChannel | undefined> = { 1: "stdout", 2: "stderr" };
const signalModes = { group: 0, tree: 1 } as const;
const exitFlags = { timedOut: 1, cpuLimit: 2, memoryLimit: 4, killed: 8, notStarted: 16, warm: 32 } as const;
const exitBytes = 32;

interface Output {
  received: number;
  consumed: number;
  credited: number;
  ended: boolean;
  /** Receive buffers that hold what was not consumed yet, and where in the channel each one's piece ends. */
  held: { end: number; buffer: ReceiveBuffer }[];
}

export function parseExit(payload: Buffer): ExitRecord {
  if (payload.length !== exitBytes) throw new WireViolation(`an exit record of ${payload.length} bytes`);
  const status = payload.readInt32LE(0);
  const flags = payload.readUInt32LE(4);
  const notStarted = (flags & exitFlags.notStarted) !== 0;
  const signal = status & 0x7f;
  return {
    exitCode: notStarted || signal !== 0 ? null : (status >> 8) & 0xff,
    signal: notStarted || signal === 0 ? null : signal,
    startError: notStarted ? status : null,
    timedOut: (flags & exitFlags.timedOut) !== 0,
    cpuLimit: (flags & exitFlags.cpuLimit) !== 0,
    memoryLimit: (flags & exitFlags.memoryLimit) !== 0,
    killed: (flags & exitFlags.killed) !== 0,
    warm: (flags & exitFlags.warm) !== 0,
    cpuMs: Math.round(readU64(payload, 8) / 1000),
    maxRssBytes: readU64(payload, 16),
    durationMs: Math.round(readU64(payload, 24) / 1000),
  };
}

const stateBytes = 48;

export function parseState(id: number, payload: Buffer): StreamState {
  if (payload.length !== stateBytes) throw new WireViolation(`a state of ${payload.length} bytes`);
  const acknowledged = { stdout: readU64(payload, 24), stderr: readU64(payload, 32) };
  if (
    Math.max(
      readU64(payload, 8),
      readU64(payload, 16),
      acknowledged.stdout,
      acknowledged.stderr,
      readU64(payload, 40),
    ) > Number.MAX_SAFE_INTEGER
  )
    throw new WireViolation("a state past any stream's end");
  const [inputReceived, inputConsumed] = [readU64(payload, 8), readU64(payload, 16)];
  if (inputConsumed > inputReceived || inputReceived - inputConsumed > wireLimits.inputWindowBytes)
    throw new WireViolation(`a state with ${inputConsumed} of ${inputReceived} bytes of input taken`);
  return {
    id,
    kind: payload.readUInt32LE(0),
    finished: payload.readUInt32LE(4) !== 0,
    spot: readU64(payload, 40),
    inputReceived,
    inputConsumed,
    acknowledged,
  };
}

function outputFrom(offset: number): Output {
  return { received: offset, consumed: offset, credited: offset, ended: false, held: [] };
}

/** The host's end of one stream. Offsets and windows are checked on every frame. */
export class HostStream implements HeldStream {
  readonly id: number;
  readonly started: Promise<number>;
  readonly exit: Promise<ExitRecord>;
  readonly #send: SendFrame;
  readonly #listener: OutputListener;
  readonly #startedGate = Promise.withResolvers<number>();
  readonly #exitGate = Promise.withResolvers<ExitRecord>();
  readonly #outputs: Record<OutputChannel, Output>;
  readonly #input: InputWindow;
  #done = false;
  #discard = false;
  /** Whether CLOSE waits for `release`. */
  readonly #held: boolean;

  constructor(id: number, listener: OutputListener, wire: InputWire, held = false, from?: StreamState) {
    this.id = id;
    this.#held = held;
    this.#outputs = {
      stdout: outputFrom(from?.acknowledged.stdout ?? 0),
      stderr: outputFrom(from?.acknowledged.stderr ?? 0),
    };
    this.#input = new InputWindow(id, wire, {
      sent: from?.inputReceived ?? 0,
      taken: from?.inputConsumed ?? 0,
    });
    this.#listener = listener;
    this.#send = wire.send;
    this.started = this.#startedGate.promise;
    this.exit = this.#exitGate.promise;
    // Callers may look at only one of the two; neither may end the process when nobody does.
    this.started.catch(() => undefined);
    this.exit.catch(() => undefined);
  }

  write(chunk: Uint8Array): Promise<boolean> {
    return this.#input.write(chunk);
  }

  end(): void {
    this.#input.end();
  }

  signal(number: number): void {
    if (!this.#done) this.#send(frameTypes.signal, signalModes.group, this.id, number);
  }

  resize(size: TerminalSize): void {
    if (!this.#done) this.#send(frameTypes.resize, 0, this.id, packSize(size));
  }

  endTree(): void {
    if (!this.#done) this.#send(frameTypes.signal, signalModes.tree, this.id, 0);
  }

  killTree(): void {
    if (this.#done) return;
    this.endTree();
    this.#discard = true;
    for (const channel of ["stdout", "stderr"] as const) {
      this.#outputs[channel].held = []; // the listener may still look at them: they are not written again
      this.#consumeAll(channel);
    }
  }

  release(): void {
    this.#send(frameTypes.close, 0, this.id, 0);
  }

  consumed(channel: OutputChannel, bytes: number): void {
    const output = this.#outputs[channel];
    output.consumed = Math.min(output.consumed + bytes, output.received);
    while (output.held[0] !== undefined && output.held[0].end <= output.consumed) output.held.shift()?.buffer.release();
    const owed = output.consumed - output.credited;
    if (this.#done || output.ended || owed < wireLimits.creditBytes) return;
    output.credited = output.consumed;
    this.#send(frameTypes.credit, channels[channel], this.id, output.consumed);
  }

  #consumeAll(channel: OutputChannel): void {
    this.consumed(channel, this.#outputs[channel].received - this.#outputs[channel].consumed);
  }

  /** Frames of the guest. Each throws WireViolation for what an honest guest does not send. */

  /** `buffer` is where the chunk lies, unless the chunk is a copy. */
  onData(channel: number, offset: number, chunk: Buffer, buffer?: ReceiveBuffer): void {
    const name = channelNames[channel];
    if (name === undefined) throw new WireViolation(`data on channel ${channel}`);
    const output = this.#outputs[name];
    if (output.ended) throw new WireViolation("data after the end of its channel");
    if (offset !== output.received) throw new WireViolation(`data at offset ${offset}, not ${output.received}`);
    output.received += chunk.length;
    if (output.received - output.consumed > wireLimits.outputWindowBytes)
      throw new WireViolation("more data than its window allows");
    if (this.#discard) return this.#consumeAll(name);
    if (buffer !== undefined) {
      buffer.hold();
      output.held.push({ end: output.received, buffer });
    }
    this.#listener(name, chunk);
  }

  onStarted(pid: number): void {
    this.#startedGate.resolve(pid);
  }

  onCredit(offset: number): void {
    this.#input.onCredit(offset);
  }

  onEnd(channel: number, offset: number): void {
    if (channel === channels.stdin) return this.#input.close();
    const name = channelNames[channel];
    if (name === undefined) throw new WireViolation(`end of channel ${channel}`);
    const output = this.#outputs[name];
    if (output.ended || offset !== output.received) throw new WireViolation(`end at ${offset} of ${output.received}`);
    output.ended = true;
  }

  onExit(payload: Buffer): void {
    const record = parseExit(payload);
    if (!this.#outputs.stdout.ended || !this.#outputs.stderr.ended)
      throw new WireViolation("an exit before the end of output");
    this.#finish();
    if (record.startError === null) this.#startedGate.resolve(0);
    else this.#startedGate.reject(new AppError("invalid", `could not be started: errno ${record.startError}`));
    this.#exitGate.resolve(record);
    if (!this.#held) this.release();
  }

  /** The sandbox is lost, or refused the stream. */
  fail(error: AppError): void {
    this.#finish();
    this.#startedGate.reject(error);
    this.#exitGate.reject(error);
  }

  #finish(): void {
    this.#done = true;
    this.#input.close();
  }
}
