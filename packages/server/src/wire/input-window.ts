import { wireLimits } from "../core/limits.ts";
import { frameTypes, WireViolation } from "./frame.ts";

/** Undefined where there is room for more input frames; else what to wait for. */
export type Congestion = () => Promise<void> | undefined;
export type SendFrame = (type: number, channel: number, stream: number, offset: number, payload?: Uint8Array) => void;

const payloadBytes = wireLimits.toGuestFrameBytes - wireLimits.headerBytes;
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
  readonly #send: SendFrame;
  readonly #congestion: Congestion;
  #sent: number;
  #taken: number;
  #open = true;
  #roomGate: PromiseWithResolvers<void> | undefined;

  readonly #budget: InputBudget | undefined;

  constructor(
    id: number,
    send: SendFrame,
    congestion: Congestion,
    { sent = 0, taken = 0, budget }: { sent?: number; taken?: number; budget?: InputBudget } = {},
  ) {
    this.#budget = budget;
    this.#id = id;
    this.#send = send;
    this.#congestion = congestion;
    this.#sent = sent;
    this.#taken = taken;
  }

  /** Resolves when the guest has room for more; false when nobody takes it. */
  async write(chunk: Uint8Array): Promise<boolean> {
    for (let at = 0; at < chunk.length && this.#open; ) {
      const room = this.#windowBytes() - (this.#sent - this.#taken);
      const wait = room <= 0 ? this.#room() : this.#congestion();
      if (wait !== undefined) {
        await wait;
        continue;
      }
      const size = Math.min(payloadBytes, room, chunk.length - at);
      this.#send(frameTypes.data, inputChannel, this.#id, this.#sent, chunk.subarray(at, at + size));
      this.#sent += size;
      if (this.#budget !== undefined) this.#budget.usedBytes += size;
      at += size;
    }
    return this.#open;
  }

  #windowBytes(): number {
    if (this.#budget === undefined) return wireLimits.inputWindowBytes;
    return this.#budget.usedBytes < wireLimits.tunnelsBytes ? wireLimits.tunnelWindowBytes : wireLimits.smallRingBytes;
  }

  #room(): Promise<void> {
    this.#roomGate ??= Promise.withResolvers<void>();
    return this.#roomGate.promise;
  }

  end(): void {
    if (!this.#open) return;
    this.close();
    this.#send(frameTypes.end, inputChannel, this.#id, this.#sent);
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
