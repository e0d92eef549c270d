import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";
import { randomId } from "../lib/random-id.ts";
import type { EventBudget } from "./event-budget.ts";
import { mcpLimits } from "./limits.ts";

interface StoredEvent {
  stream: string;
  message: JSONRPCMessage;
  bytes: number;
}

/**
 * What went to a client of one session, for one whose connection broke (2025-11-25). The oldest makes room; a client
 * that comes back for what is gone is told so and starts anew.
 */
export class SessionEvents implements EventStore, Disposable {
  readonly #events = new Map<string, StoredEvent>();
  readonly #budget: EventBudget;
  readonly #owner: string;
  /** Another session, or another process, has no event of the same id. */
  readonly #epoch = randomId(6, "hex");
  #bytes = 0;
  #last = 0;

  constructor(budget: EventBudget, owner: string) {
    this.#budget = budget;
    this.#owner = owner;
    budget.add(owner, this);
  }

  get bytes(): number {
    return this.#bytes;
  }

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    this.#last += 1;
    const id = `${this.#epoch}_${this.#last.toString(36)}`;
    const bytes = Buffer.byteLength(JSON.stringify(message)) + 64;
    while (this.#events.size > 0 && !this.#fits(bytes)) this.dropOldest();
    if (this.#fits(bytes)) {
      this.#budget.makeRoom(bytes);
      this.#events.set(id, { stream, message, bytes });
      this.#count(bytes);
    }
    return id;
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.get(id)?.stream;
  }

  async replayEventsAfter(
    last: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const stream = this.#events.get(last)?.stream;
    if (stream === undefined) throw new Error("this event is not kept");
    let after = false;
    for (const [id, event] of [...this.#events]) {
      // The first event of a stream has no message: it gives a client something to come back with.
      if (after && event.stream === stream && Object.keys(event.message).length > 0) await send(id, event.message);
      if (id === last) after = true;
    }
    return stream;
  }

  dropOldest(): boolean {
    for (const [id, { bytes }] of this.#events) {
      this.#events.delete(id);
      this.#count(-bytes);
      return true;
    }
    return false;
  }

  [Symbol.dispose](): void {
    while (this.dropOldest());
    this.#budget.remove(this.#owner, this);
  }

  #fits(bytes: number): boolean {
    return this.#events.size < mcpLimits.eventsPerSession && this.#bytes + bytes <= mcpLimits.eventBytesPerSession;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#budget.bytes += bytes;
  }
}
