import type { JournalEvent, Position } from "../core/journal.ts";
import { journalLimits } from "./limits.ts";

/** What came n-th. */
export interface Slot {
  /** Null for an event that is not stored. */
  position: Position | null;
  /** Undefined for a row that subscribers do not get. */
  event: JournalEvent | undefined;
  /** Number of events up to this one. */
  events: number;
}

/** The newest events, in one ring that all readers share: ten thousand that do not read cost ten thousand numbers. */
export class RecentEvents {
  readonly #ring: Slot[] = [];
  readonly #waiting = new Set<() => void>();
  /** How many have come. */
  #count = 0;
  #events = 0;
  #last: Position;
  #floor: Position;
  #waking = false;
  #closed = false;

  constructor(last: Position) {
    this.#last = last;
    this.#floor = last;
  }

  /** The newest position that is stored. */
  get last(): Position {
    return this.#last;
  }

  /** Every stored position above this one that came this way is in the ring. */
  get floor(): Position {
    return this.#floor;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get count(): number {
    return this.#count;
  }

  get oldest(): number {
    return Math.max(1, this.#count - journalLimits.recent + 1);
  }

  add(position: Position | null, event: JournalEvent | undefined): void {
    if (event !== undefined) this.#events++;
    const at = ++this.#count % journalLimits.recent;
    this.#floor = Math.max(this.#floor, this.#ring[at]?.position ?? 0);
    this.#ring[at] = { position, event, events: this.#events };
    this.#last = Math.max(this.#last, position ?? 0);
    this.#wakeSoon();
  }

  /** Undefined for what is gone, and for what has yet to come. */
  at(number: number): Slot | undefined {
    if (number < this.oldest || number > this.#count) return undefined;
    return this.#ring[number % journalLimits.recent];
  }

  /** The number of the first one behind a position that is not below the floor. */
  behind(position: Position): number {
    for (let number = this.#count; number >= this.oldest; number--)
      if (this.at(number)?.position === position) return number + 1;
    return this.oldest;
  }

  /** Resolves when there is more, or never will be, or at `wake`. */
  sleep(onWake: (wake: () => void) => void): Promise<void> {
    return new Promise<void>((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        resolve();
      };
      onWake(wake);
      this.#waiting.add(wake);
    });
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }

  /** After those who recorded it: their answer does not wait for readers. */
  #wakeSoon(): void {
    if (this.#waking || this.#waiting.size === 0) return;
    this.#waking = true;
    setImmediate(() => {
      this.#waking = false;
      this.#wake();
    });
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
