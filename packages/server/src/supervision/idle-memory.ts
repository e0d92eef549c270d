import { memoryUsage } from "node:process";
import { idleMemoryLimits } from "./idle-memory-limits.ts";

export interface IdleMemoryParts {
  /** Collects, and gives back what is free. */
  collect: () => void;
  /** How much of a while this process was busy, from 0 to 1: with many sandboxes it always is a little, for their sake. */
  busy: () => number;
  /** For how long nobody has used a sandbox; 0 while somebody does. */
  unusedMs: () => number;
  usedBytes?: () => number;
}

/**
 * Gives memory back when there is nothing else to do. V8 collects when it is asked for more: a daemon that nobody asks for
 * anything would keep what its last requests left for as long as it lives.
 */
export class IdleMemory implements Disposable {
  readonly #parts: IdleMemoryParts;
  readonly #usedBytes: () => number;
  readonly #timer: NodeJS.Timeout;
  #leftBytes = 0;

  constructor(parts: IdleMemoryParts) {
    this.#parts = parts;
    this.#usedBytes = parts.usedBytes ?? (() => memoryUsage().heapUsed);
    this.#timer = setInterval(() => this.look(), idleMemoryLimits.lookMs);
    this.#timer.unref();
  }

  look(): void {
    const { lookMs, share, garbageBytes } = idleMemoryLimits;
    const isUsed = this.#parts.unusedMs() < lookMs;
    const isBusy = this.#parts.busy() > (isUsed ? share.used : share.unused);
    if (isBusy || this.#usedBytes() < this.#leftBytes + garbageBytes) return;
    this.#parts.collect();
    this.#leftBytes = this.#usedBytes();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** How busy the event loop was since this was last called. */
export function loopBusy(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
