import { writeSync } from "node:fs";
import { errnoOf } from "../core/errors.ts";
import { wireLimits } from "./limits.ts";

const queuedDataBytes = wireLimits.queuedDataFrames * wireLimits.toGuestFrameBytes;

/**
 * Writes whole frames to a FIFO, so that a killed owner never leaves half a frame behind (hazard 13): a write has at most
 * PIPE_BUF bytes, or full frames alone. A FIFO that has no room for all of those takes whole pages, and so whole frames.
 * libuv's own queue would cut frames in two, and a FIFO cannot be waited for without it: a full one is tried again by
 * timer. Frames wait here only while the guest does not read; their number is bounded.
 */
export class FifoWriter {
  readonly #fd: number;
  readonly #failed: (reason: string) => void;
  readonly #queue: Buffer[] = [];
  #queuedBytes = 0;
  /** Made for what waits: most of the time nothing does. */
  #batch: Buffer | undefined;
  #batched = 0;
  #flush: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  #delayMs: number = wireLimits.retryMs;
  #closed = false;
  /** While held: how many of the frames that wait may still go out. */
  #allowed: number | undefined;
  #drainedGate: PromiseWithResolvers<void> | undefined;

  constructor(fd: number, failed: (reason: string) => void) {
    this.#fd = fd;
    this.#failed = failed;
  }

  /** The frame may be reused by the caller when this returns. */
  send(frame: Buffer): void {
    if (this.#batched > 0 && this.#add(frame)) return this.#sendBatch();
    this.#sendBatch();
    this.#send(frame);
  }

  /** Frames of the largest size each, and many. */
  sendFull(frames: Buffer): void {
    this.#sendBatch();
    this.#send(frames);
  }

  /** With the next frame, or when this turn of the event loop is over: one write wakes the guest once. */
  sendLater(frame: Buffer): void {
    if (!this.#add(frame)) {
      this.#sendBatch();
      this.#add(frame);
    }
    this.#flush ??= setImmediate(() => {
      this.#flush = undefined;
      this.#sendBatch();
    });
  }

  /** Undefined while few frames wait; else resolves when none does. */
  readonly congestion = (): Promise<void> | undefined => {
    if (this.#queuedBytes < queuedDataBytes) return undefined;
    this.#drainedGate ??= Promise.withResolvers<void>();
    return this.#drainedGate.promise;
  };

  /** Pieces that wait: of at least a frame each. */
  get queued(): number {
    return this.#queue.length;
  }

  /** What is sent from now on waits for `go`; what waits already does not. */
  hold(): void {
    this.#sendBatch();
    this.#allowed ??= this.#queue.length;
  }

  go(): void {
    this.#allowed = undefined;
    clearTimeout(this.#timer);
    this.#drain();
  }

  /** The guest has been heard of: it may have made room. */
  retry(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#drain();
  }

  #drained(): void {
    this.#drainedGate?.resolve();
    this.#drainedGate = undefined;
  }

  #add(frame: Buffer): boolean {
    if (this.#batched + frame.length > wireLimits.toGuestFrameBytes) return false;
    this.#batch ??= Buffer.allocUnsafe(wireLimits.toGuestFrameBytes);
    frame.copy(this.#batch, this.#batched);
    this.#batched += frame.length;
    return true;
  }

  #sendBatch(): void {
    const batch = this.#batch?.subarray(0, this.#batched);
    this.#batched = 0;
    this.#batch = undefined;
    if (batch !== undefined) this.#send(batch);
  }

  #send(frame: Buffer): void {
    if (this.#closed) return;
    const isHeld = this.#allowed !== undefined;
    const written = this.#queue.length === 0 && !isHeld ? this.#write(frame) : 0;
    if (this.#closed || written === frame.length) return;
    if (this.#queue.length >= wireLimits.queuedFrames) {
      this.#failed("the guest does not read its wire");
      return;
    }
    this.#queue.push(Buffer.from(frame.subarray(written)));
    this.#queuedBytes += frame.length - written;
    if (!isHeld) this.#timer ??= setTimeout(() => this.#drain(), this.#delayMs);
  }

  close(): void {
    this.#sendBatch();
    clearImmediate(this.#flush);
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#queue.length = 0;
    this.#queuedBytes = 0;
    this.#drained();
  }

  #drain(): void {
    this.#timer = undefined;
    let progress = false;
    for (let frame = this.#queue[0]; frame !== undefined && this.#allowed !== 0; frame = this.#queue[0]) {
      const written = this.#write(frame);
      this.#queuedBytes -= written;
      if (written > 0) progress = true;
      if (written < frame.length) {
        this.#queue[0] = frame.subarray(written);
        break;
      }
      this.#queue.shift();
      if (this.#allowed !== undefined) this.#allowed--;
    }
    if (this.#queue.length === 0) this.#drained();
    if (this.#closed || this.#queue.length === 0 || this.#allowed === 0) return;
    this.#delayMs = progress ? wireLimits.retryMs : Math.min(this.#delayMs * 2, wireLimits.retryMostMs);
    this.#timer = setTimeout(() => this.#drain(), this.#delayMs);
  }

  /** How much the FIFO took: all of it, or whole frames. */
  #write(frames: Buffer): number {
    try {
      return writeSync(this.#fd, frames);
    } catch (error) {
      if (errnoOf(error) !== "EAGAIN") {
        this.#closed = true;
        this.#failed(`the wire cannot be written: ${errnoOf(error)}`);
      }
      return 0;
    }
  }
}
