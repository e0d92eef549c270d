import { AppError } from "../core/errors.ts";
import type {
  EventFilter,
  EventListener,
  EventStream,
  Events,
  Happening,
  LagEvent,
  SandboxEvent,
} from "../core/event.ts";
import { eventLimits } from "../core/limits.ts";

type NamespaceOf = (sandboxId: string) => string;

function matches(filter: EventFilter, event: SandboxEvent, namespaceOf: NamespaceOf): boolean {
  if (filter.namespace !== undefined && filter.namespace !== namespaceOf(event.sandboxId)) return false;
  if (filter.sandboxId !== undefined && filter.sandboxId !== event.sandboxId) return false;
  return filter.types === undefined || filter.types.includes(event.type);
}

/** Hands events to listeners in their order. What a listener throws, now or later, reaches nobody else. */
export class EventBus implements Events {
  readonly #listeners = new Set<{ filter: EventFilter; listener: EventListener }>();
  readonly #streams = new Set<() => void>();
  readonly #namespaceOf: NamespaceOf;
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
      throw new AppError("limit_exceeded", `more than ${eventLimits.listeners} listeners`, {
        hint: "end subscriptions that are not needed any more",
      });
    const entry = { filter, listener };
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  emit(happening: Happening): void {
    const event = Object.freeze({ ...happening, atMs: Date.now() }) as SandboxEvent;
    for (const { filter, listener } of [...this.#listeners]) {
      if (!matches(filter, event, this.#namespaceOf)) continue;
      try {
        const done = listener(event);
        if (done instanceof Promise) done.catch(() => this.#failures++);
      } catch {
        this.#failures++;
      }
    }
  }

  /** What concerns one sandbox. */
  of(sandboxId: string): Events {
    return {
      subscribe: (listener, filter) => this.subscribe(listener, { ...filter, sandboxId }),
      stream: (filter) => this.stream({ ...filter, sandboxId }),
    };
  }

  stream(filter: EventFilter = {}): EventStream {
    const waiting: SandboxEvent[] = [];
    let dropped = 0;
    let ended = this.#closed;
    let wake = Promise.withResolvers<void>();
    const unsubscribe = this.subscribe((event) => {
      if (waiting.length >= eventLimits.queued) {
        waiting.shift();
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
    const take = (): SandboxEvent | LagEvent | undefined => {
      if (dropped === 0) return waiting.shift();
      const lag: LagEvent = { type: "events.lag", dropped, atMs: Date.now() };
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

  /** Ends every stream after what waits in it. */
  close(): void {
    this.#closed = true;
    for (const end of [...this.#streams]) end();
    this.#listeners.clear();
  }
}
