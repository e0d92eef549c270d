import { writeSync } from "node:fs";
import { errnoOf } from "../core/errors.ts";
import { wireLimits } from "../core/limits.ts";

/**
 * Writes whole frames to a FIFO, each in one write of at most PIPE_BUF bytes, so that a killed owner never leaves half a
 * frame behind (hazard 13). libuv's own queue would cut frames in two, and a FIFO cannot be waited for without it: a full
 * one is tried again by timer. Frames wait here only while the guest does not read; their number is bounded.
 */
export class FifoWriter {
  readonly #fd: number;
  readonly #failed: (reason: string) => void;
  readonly #queue: Buffer[] = [];
  /** Made for what waits: most of the time nothing does. */
  #batch: Buffer | undefined;
  #batched = 0;
  #flush: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  #delayMs: number = wireLimits.retryMs;
  #closed = false;
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
    if (this.#queue.length < wireLimits.queuedDataFrames) return undefined;
    this.#drainedGate ??= Promise.withResolvers<void>();
    return this.#drainedGate.promise;
  };

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
    if (this.#queue.length === 0 && this.#write(frame)) return;
    if (this.#closed) return;
    if (this.#queue.length >= wireLimits.queuedFrames) {
      this.#failed("the guest does not read its wire");
      return;
    }
    this.#queue.push(Buffer.from(frame));
    this.#timer ??= setTimeout(() => this.#drain(), this.#delayMs);
  }

  close(): void {
    this.#sendBatch();
    clearImmediate(this.#flush);
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#queue.length = 0;
    this.#drained();
  }

  #drain(): void {
    this.#timer = undefined;
    let frame = this.#queue[0];
    let progress = false;
    while (frame !== undefined && this.#write(frame)) {
      progress = true;
      this.#queue.shift();
      frame = this.#queue[0];
    }
    if (frame === undefined) this.#drained();
    if (this.#closed || frame === undefined) return;
    this.#delayMs = progress ? wireLimits.retryMs : Math.min(this.#delayMs * 2, wireLimits.retryMostMs);
    this.#timer = setTimeout(() => this.#drain(), this.#delayMs);
  }

  #write(frame: Buffer): boolean {
    try {
      writeSync(this.#fd, frame);
      return true;
    } catch (error) {
      if (errnoOf(error) !== "EAGAIN") {
        this.#closed = true;
        this.#failed(`the wire cannot be written: ${errnoOf(error)}`);
      }
      return false;
    }
  }
}
