import { AsyncLocalStorage } from "node:async_hooks";
import type { ServerEvent, ServerEventBus } from "@modelcontextprotocol/server";

type Listener = (event: ServerEvent) => void;

/** Tells clients that listen what has changed, and each of them only of its own namespace. */
export class Changes implements ServerEventBus {
  readonly #listeners = new Map<Listener, string | undefined>();
  readonly #namespace = new AsyncLocalStorage<string>();

  /** What subscribes meanwhile does so for this namespace: the protocol's library says nothing of whose a stream is. */
  as<T>(namespace: string, work: () => T): T {
    return this.#namespace.run(namespace, work);
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.set(listener, this.#namespace.getStore());
    return () => void this.#listeners.delete(listener);
  }

  /** To everybody: what the server offers is the same for all. */
  publish(event: ServerEvent): void {
    for (const listener of this.#listeners.keys()) listener(event);
  }

  tell(namespace: string, event: ServerEvent): void {
    for (const [listener, own] of this.#listeners) if (own === namespace) listener(event);
  }
}
