import type { AppError } from "../core/errors.ts";
import type { Datagram } from "../core/tunnel.ts";
import type { StreamState } from "../core/wire.ts";
import { refusal } from "./awaited-stream.ts";
import { frameTypes, WireViolation } from "./frame.ts";
import { wireLimits } from "./limits.ts";
import { parseAddress, showAddress, unpackSpot } from "./spot.ts";
import { parseExit } from "./stream.ts";
import type { StreamEnd } from "./stream-end.ts";
import type { TunnelFlow } from "./tunnel-flow.ts";

type Receive = (datagram: Datagram, send: (bytes: Buffer) => void) => void;

const headBytes = 16;
const outputChannel = 1;
const inputChannel = 0;

/** A UDP socket inside the sandbox. Each datagram has a head with its size and its sender; so have the answers. */
export class DatagramStream implements StreamEnd {
  readonly id: number;
  readonly spot: number;
  readonly ready: Promise<void>;
  claimed = false;
  take: Receive | undefined;
  readonly #flow: TunnelFlow;
  readonly #gate = Promise.withResolvers<void>();
  #received: number;
  #sent: number;
  /** What of a datagram has come. */
  #partial: Buffer = Buffer.alloc(0);

  readonly #ended: () => void;

  constructor(id: number, spot: number, flow: TunnelFlow, ended: () => void, from?: StreamState) {
    this.#ended = ended;
    this.id = id;
    this.spot = spot;
    this.#flow = flow;
    this.#received = from?.acknowledged.stdout ?? 0;
    this.#sent = from?.inputReceived ?? 0;
    this.ready = this.#gate.promise;
    this.ready.catch(() => undefined);
    if (from !== undefined) this.#gate.resolve();
  }

  onData(channel: number, offset: number, chunk: Buffer): void {
    if (channel !== outputChannel || offset !== this.#received)
      throw new WireViolation(`datagrams at offset ${offset} of channel ${channel}, not ${this.#received}`);
    this.#received += chunk.length;
    let rest = Buffer.concat([this.#partial, chunk]);
    for (let size = this.#sizeOf(rest); rest.length >= size; size = this.#sizeOf(rest)) {
      this.#deliver(rest.subarray(0, size));
      rest = rest.subarray(size);
    }
    this.#partial = Buffer.from(rest);
    this.#flow.send(frameTypes.credit, outputChannel, this.id, this.#received);
  }

  /** With its head, of which not all may have come. */
  #sizeOf(bytes: Buffer): number {
    if (bytes.length < headBytes) return headBytes;
    const size = bytes.readUInt32LE(0);
    if (size === 0 || size > wireLimits.datagramBytes) throw new WireViolation(`a datagram of ${size} bytes`);
    return headBytes + size;
  }

  #deliver(record: Buffer): void {
    const port = record.readUInt32LE(4);
    const from = { address: showAddress(record.readUInt32LE(8)), port };
    this.take?.({ from, bytes: Buffer.from(record.subarray(headBytes)) }, (bytes) => this.#answer(from, bytes));
  }

  #answer(to: Datagram["from"], bytes: Buffer): void {
    if (bytes.length === 0 || bytes.length > wireLimits.datagramBytes || this.#flow.input.congestion() !== undefined)
      return;
    const record = Buffer.alloc(headBytes + bytes.length);
    record.writeUInt32LE(bytes.length, 0);
    record.writeUInt32LE(to.port, 4);
    record.writeUInt32LE(parseAddress(to.address), 8);
    record.set(bytes, headBytes);
    this.#flow.send(frameTypes.data, inputChannel, this.id, this.#sent, record);
    this.#sent += record.length;
  }

  onStarted(): void {
    this.#gate.resolve();
  }

  onCredit(offset: number): void {
    if (offset > this.#sent) throw new WireViolation(`credit for ${offset} of ${this.#sent}`);
  }

  onEnd(): void {
    // Comes before the exit of one that could not be made.
  }

  onExit(payload: Buffer): void {
    const { address, port } = unpackSpot(this.spot);
    this.#ended();
    this.fail(refusal(`no datagrams at ${address}:${port} of the sandbox`, parseExit(payload).startError ?? 0));
  }

  fail(error: AppError): void {
    this.#gate.reject(error);
  }
}
