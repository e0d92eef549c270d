import { wireLimits } from "./limits.ts";

/** A buffer that the wire was read into, and how many pieces of it listeners still hold. */
export class ReceiveBuffer {
  readonly bytes = Buffer.allocUnsafeSlow(wireLimits.receiveBytes);
  readonly #pool: ReceiveBuffers;
  #holds = 0;

  constructor(pool: ReceiveBuffers) {
    this.#pool = pool;
  }

  get held(): boolean {
    return this.#holds > 0;
  }

  hold(): void {
    if (this.#holds++ === 0) this.#pool.heldCount++;
  }

  release(): void {
    this.#holds--;
    if (this.#holds > 0) return;
    this.#pool.heldCount--;
    this.#pool.give(this);
  }

  /** Whether so many are held that nothing should hold this one too. */
  get scarce(): boolean {
    return !this.held && this.#pool.heldCount >= wireLimits.receiveHeld;
  }
}

/**
 * Receive buffers of one wire. They go round instead of waiting for the collector, which knows nothing of what lies
 * outside its heap and would let hundreds of megabytes gather.
 */
export class ReceiveBuffers {
  readonly #free: ReceiveBuffer[] = [];
  heldCount = 0;
  #current = new ReceiveBuffer(this);

  /** The one to read into. */
  get current(): ReceiveBuffer {
    return this.#current;
  }

  /** Puts another in place of one that is held. */
  turn(): void {
    if (this.#current.held) this.#current = this.#free.pop() ?? new ReceiveBuffer(this);
  }

  give(buffer: ReceiveBuffer): void {
    if (buffer !== this.#current && this.#free.length < wireLimits.receiveSpares) this.#free.push(buffer);
  }
}
