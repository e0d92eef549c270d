import { frameTypes, WireViolation } from "./frame.ts";
import { wireLimits } from "./limits.ts";

/** Undefined where there is room for more input frames; else what to wait for. */
export type Congestion = () => Promise<void> | undefined;
export type SendFrame = (type: number, channel: number, stream: number, offset: number, payload?: Uint8Array) => void;

/** Sends input that fills full frames, all of the chunk. */
export type SendFull = (stream: number, offset: number, chunk: Uint8Array) => void;

/** What input needs of its wire. */
export interface InputWire {
  readonly send: SendFrame;
  readonly sendFull: SendFull;
  readonly congestion: Congestion;
}

const payloadBytes = wireLimits.toGuestFrameBytes - wireLimits.headerBytes;
const pieceBytes = wireLimits.pieceFrames * payloadBytes;
const inputChannel = 0;

/** What the connections of a wire have under way together. */
export class InputBudget {
  usedBytes = 0;
}

/**
 * Input of one stream: what was sent, and what of it the guest says was taken. Connections share a budget: each may always
 * have a little under way, and much only while few do.
 */
export class InputWindow {
  readonly #id: number;
  readonly #wire: InputWire;
  #sent: number;
  #taken: number;
  #open = true;
  #roomGate: PromiseWithResolvers<void> | undefined;

  readonly #budget: InputBudget | undefined;

  constructor(
    id: number,
    wire: InputWire,
    { sent = 0, taken = 0, budget }: { sent?: number; taken?: number; budget?: InputBudget } = {},
  ) {
    this.#budget = budget;
    this.#id = id;
    this.#wire = wire;
    this.#sent = sent;
    this.#taken = taken;
  }

  /** Resolves when the guest has room for more; false when nobody takes it. */
  async write(chunk: Uint8Array): Promise<boolean> {
    for (let at = this.writeNow(chunk); at < chunk.length && this.#open; at += this.writeNow(chunk.subarray(at)))
      await (this.#wire.congestion() ?? this.#room());
    return this.#open;
  }

  /** Sends what there is room for, and says how much that was. The chunk is not looked at later. */
  writeNow(chunk: Uint8Array): number {
    let at = 0;
    while (at < chunk.length && this.#open && this.#wire.congestion() === undefined) {
      const left = chunk.length - at;
      const size = sizeOfNext(left, Math.min(left, this.#roomBytes()));
      if (size === 0) break;
      const piece = chunk.subarray(at, at + size);
      if (size < payloadBytes) this.#wire.send(frameTypes.data, inputChannel, this.#id, this.#sent, piece);
      else this.#wire.sendFull(this.#id, this.#sent, piece);
      this.#sent += size;
      if (this.#budget !== undefined) this.#budget.usedBytes += size;
      at += size;
    }
    return at;
  }

  /** Undefined while there is room for a large chunk; else what to wait for. */
  more(): Promise<void> | undefined {
    return this.#hasMore() ? this.#wire.congestion() : this.#awaitMore();
  }

  #hasMore(): boolean {
    return !this.#open || this.#roomBytes() >= Math.min(pieceBytes, this.#windowBytes() / 2);
  }

  async #awaitMore(): Promise<void> {
    while (!this.#hasMore()) await this.#room();
  }

  #roomBytes(): number {
    return this.#windowBytes() - (this.#sent - this.#taken);
  }

  #windowBytes(): number {
    if (this.#budget === undefined) return wireLimits.inputWindowBytes;
    const share = Math.floor((wireLimits.tunnelsInputBytes - this.#budget.usedBytes) * wireLimits.tunnelShare);
    return Math.max(wireLimits.smallRingBytes, Math.min(wireLimits.tunnelWindowBytes, share));
  }

  #room(): Promise<void> {
    this.#roomGate ??= Promise.withResolvers<void>();
    return this.#roomGate.promise;
  }

  end(): void {
    if (!this.#open) return;
    this.close();
    this.#wire.send(frameTypes.end, inputChannel, this.#id, this.#sent);
  }

  /** Nobody takes more: those who wait learn it. */
  close(): void {
    this.#open = false;
    this.#wake();
  }

  /** What is under way is nobody's any more. */
  forget(): void {
    this.close();
    this.onCredit(this.#sent);
  }

  onCredit(offset: number): void {
    if (offset < this.#taken || offset > this.#sent) throw new WireViolation(`credit for ${offset} of ${this.#sent}`);
    if (this.#budget !== undefined) this.#budget.usedBytes -= offset - this.#taken;
    this.#taken = offset;
    this.#wake();
  }

  #wake(): void {
    this.#roomGate?.resolve();
    this.#roomGate = undefined;
  }
}

/** Full frames as far as there is room, then what is left. No small one goes where a full one will. */
function sizeOfNext(left: number, room: number): number {
  if (room >= payloadBytes) return Math.min(pieceBytes, room - (room % payloadBytes));
  return room === left ? left : 0;
}
