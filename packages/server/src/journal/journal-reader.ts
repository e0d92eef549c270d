import type { AuditRow } from "../core/audit.ts";
import type { EventFilter, EventReader, JournalEvent, LagEvent, Position } from "../core/journal.ts";
import { eventOf } from "./event-row.ts";
import { matches } from "./matches.ts";
import type { RecentEvents } from "./recent-events.ts";

export interface ReaderParts {
  recent: RecentEvents;
  filter: EventFilter;
  /** The last event that it knows; from now on without one. */
  after: Position | undefined;
  /** Rows of the audit log behind a position, oldest first. */
  page: (namespace: string | undefined, after: Position) => Promise<AuditRow[]>;
  /** The newest row before a position. */
  before: (namespace: string, position: Position) => Promise<AuditRow | undefined>;
  /** Refuses when too many read from the store. Returns a function that gives the place back. */
  enterStore: () => () => void;
  ended: () => void;
}

/** Reads the store up to where the newest events begin, then those as they come. */
export class JournalReader implements EventReader {
  readonly #parts: ReaderParts;
  /** Everything up to this position was delivered, or is not for this reader. */
  #seen: Position;
  /** The next of the newest events, and how many events had come before it. */
  #next: number;
  #events = 0;
  #page: AuditRow[] = [];
  /** The store is read up to this position. */
  #until: Position | undefined;
  #leaveStore: (() => void) | undefined;
  #isFirstPage = false;
  #wake: (() => void) | undefined;
  #ended = false;

  constructor(parts: ReaderParts) {
    const { recent, after } = parts;
    this.#parts = parts;
    this.#seen = Math.min(after ?? recent.last, recent.last);
    const isStored = this.#seen < recent.floor;
    this.#next = isStored || after === undefined ? recent.count + 1 : recent.behind(this.#seen);
    this.#countEvents();
    if (!isStored) return;
    this.#leaveStore = parts.enterStore();
    this.#until = recent.last;
    this.#isFirstPage = true;
  }

  async next(): Promise<IteratorResult<JournalEvent | LagEvent, undefined>> {
    for (;;) {
      if (this.#ended) return { done: true, value: undefined };
      const value = this.#until === undefined ? this.#takeRecent() : await this.#takeStored(this.#until);
      if (value === "later") {
        if (this.#parts.recent.closed) this.#end();
        else await this.#parts.recent.sleep((wake) => this.#sleeps(wake));
      } else if (value !== undefined) return { done: false, value };
    }
  }

  async return(): Promise<IteratorResult<JournalEvent | LagEvent, undefined>> {
    this.#end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  [Symbol.dispose](): void {
    this.#end();
  }

  #sleeps(wake: () => void): void {
    this.#wake = wake;
    if (this.#ended) wake();
  }

  /** Undefined for what is not for this reader. */
  #takeRecent(): JournalEvent | LagEvent | "later" | undefined {
    const { recent, filter } = this.#parts;
    if (this.#next < recent.oldest) return this.#skipLost();
    const slot = recent.at(this.#next);
    if (slot === undefined) return "later";
    const { position, event, events } = slot;
    // Rows between the two have not come yet, or came from the store itself.
    if (position !== null && position > this.#seen + 1) {
      this.#until = position - 1;
      return undefined;
    }
    this.#next++;
    this.#events = events;
    if (position !== null && position <= this.#seen) return undefined; // read from the store
    if (position !== null) this.#seen = position;
    return event !== undefined && matches(filter, event) ? event : undefined;
  }

  /** For a reader that was too slow: it goes on with the oldest event there is. */
  #skipLost(): LagEvent | undefined {
    const { recent } = this.#parts;
    this.#next = recent.oldest;
    const before = this.#events;
    this.#countEvents();
    this.#seen = Math.max(this.#seen, recent.floor);
    const dropped = this.#events - before;
    return dropped > 0 ? lag(dropped, this.#seen) : undefined;
  }

  #countEvents(): void {
    const { recent } = this.#parts;
    const slot = recent.at(this.#next);
    if (slot !== undefined) this.#events = slot.events - (slot.event === undefined ? 0 : 1);
    else this.#events = recent.at(recent.count)?.events ?? 0;
  }

  async #takeStored(until: Position): Promise<JournalEvent | LagEvent | undefined> {
    const [row] = this.#page;
    if (row === undefined) return this.#turnPage(until);
    const { namespace } = this.#parts.filter;
    const missing = row.position - this.#seen - 1;
    if (namespace === undefined && missing > 0) {
      this.#seen = row.position - 1; // retention has removed them
      return lag(missing, this.#seen);
    }
    this.#page.shift();
    this.#seen = row.position;
    const event = eventOf(row);
    return event !== undefined && matches(this.#parts.filter, event) ? event : undefined;
  }

  async #turnPage(until: Position): Promise<LagEvent | undefined> {
    const { page, filter } = this.#parts;
    const rows = await page(filter.namespace, this.#seen);
    this.#page = rows.filter(({ position }) => position <= until);
    const isLast = this.#page.length === 0;
    if (!isLast && this.#isFirstPage) {
      this.#isFirstPage = false;
      return this.#lostBefore(this.#page[0]);
    }
    this.#isFirstPage = false;
    if (!isLast) return undefined;
    this.#seen = Math.max(this.#seen, until);
    this.#until = undefined;
    this.#leaveStore?.();
    this.#leaveStore = undefined;
    return undefined;
  }

  /** Returns a lag marker if retention removed rows of the namespace after the last one that the reader knows. */
  async #lostBefore(first: AuditRow | undefined): Promise<LagEvent | undefined> {
    const { before, filter } = this.#parts;
    if (first === undefined || filter.namespace === undefined || first.sequence === 1) return undefined;
    if ((await before(filter.namespace, first.position)) !== undefined) return undefined;
    const dropped = Math.min(first.sequence - 1, first.position - this.#seen - 1);
    return dropped > 0 ? lag(dropped, first.position - 1) : undefined;
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#leaveStore?.();
    this.#parts.ended();
    this.#wake?.();
  }
}

function lag(dropped: number, id: Position): LagEvent {
  return { type: "events.lag", id, at: new Date().toISOString(), dropped };
}
