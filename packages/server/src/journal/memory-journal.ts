import { AppError } from "../core/errors.ts";
import type {
  EventFilter,
  EventListener,
  EventStream,
  Events,
  Happening,
  JournalEvent,
  LagEvent,
} from "../core/journal.ts";
import { eventLimits } from "./limits.ts";
import { matches } from "./matches.ts";

type NamespaceOf = (sandboxId: string) => string;

/** The library's journal: the events of one process, to its listeners, in their order. An error of a listener reaches nobody else. */
export class MemoryJournal implements Events {
  readonly #listeners = new Set<{ filter: EventFilter; listener: EventListener }>();
  readonly #streams = new Set<() => void>();
  readonly #namespaceOf: NamespaceOf;
  #last = 0;
  #closed = false;
  #failures = 0;

  constructor(namespaceOf: NamespaceOf = () => "default") {
    this.#namespaceOf = namespaceOf;
  }

  /** How often a listener threw. */
  get listenerFailures(): number {
    return this.#failures;
  }

  subscribe(listener: EventListener, filter: EventFilter = {}): () => void {
    if (this.#listeners.size >= eventLimits.listeners)
      throw new AppError("limit_exceeded", `too many listeners (limit: ${eventLimits.listeners})`, {
        hint: "end unused subscriptions",
      });
    const entry = { filter, listener };
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  record({ type, sandboxId = null, runId = null, data }: Happening): void {
    const event = Object.freeze({
      type,
      id: ++this.#last,
      at: new Date().toISOString(),
      namespace: sandboxId === null ? "default" : this.#namespaceOf(sandboxId),
      sandbox_id: sandboxId,
      run_id: runId,
      data,
    }) as JournalEvent;
    for (const { filter, listener } of [...this.#listeners]) {
      if (!matches(filter, event)) continue;
      try {
        const done = listener(event);
        if (done instanceof Promise) done.catch(() => this.#failures++);
      } catch {
        this.#failures++;
      }
    }
  }

  /** The events of one sandbox. */
  of(sandboxId: string): Events {
    return {
      subscribe: (listener, filter) => this.subscribe(listener, { ...filter, sandboxId }),
      stream: (filter) => this.stream({ ...filter, sandboxId }),
    };
  }

  stream(filter: EventFilter = {}): EventStream {
    const waiting: JournalEvent[] = [];
    let dropped = 0;
    let lost: JournalEvent | undefined;
    let ended = this.#closed;
    let wake = Promise.withResolvers<void>();
    const unsubscribe = this.subscribe((event) => {
      if (waiting.length >= eventLimits.queued) {
        lost = waiting.shift();
        dropped++;
      }
      waiting.push(event);
      wake.resolve();
    }, filter);
    const end = () => {
      ended = true;
      unsubscribe();
      this.#streams.delete(end);
      wake.resolve();
    };
    this.#streams.add(end);
    if (ended) end();
    const take = (): JournalEvent | LagEvent | undefined => {
      if (dropped === 0) return waiting.shift();
      const lag: LagEvent = { type: "events.lag", id: lost?.id ?? null, at: new Date().toISOString(), dropped };
      dropped = 0;
      return lag;
    };
    return {
      async next() {
        for (;;) {
          const value = take();
          if (value !== undefined) return { done: false, value };
          if (ended) return { done: true, value: undefined };
          await wake.promise;
          wake = Promise.withResolvers<void>();
        }
      },
      async return() {
        waiting.length = 0;
        dropped = 0;
        end();
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]() {
        return this;
      },
      [Symbol.dispose]: end,
    };
  }

  /** Ends every stream after the events that wait in it. */
  close(): void {
    this.#closed = true;
    for (const end of [...this.#streams]) end();
    this.#listeners.clear();
  }
}
