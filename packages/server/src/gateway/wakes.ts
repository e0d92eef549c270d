import type { ServerRecord } from "../core/server.ts";
import type { LinkFor, ServerLink } from "../core/server-link.ts";
import type { ModernUpstream } from "./upstreams.ts";

type Woken = (upstream: ModernUpstream) => void;

/** Streams that wait for the next instance of a server: they are told of it, and start none. */
export class Wakes {
  readonly #waiting = new Map<string, Set<Woken>>();

  /** Calls the listeners that wait for the server to start again. */
  tell(server: ServerRecord, who: LinkFor, link: ServerLink, upstream: ModernUpstream): void {
    const key = keyOf(server, who, link);
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    for (const woken of waiting ?? []) woken(upstream);
  }

  /** Resolves with the next instance; undefined if `gone` is aborted before. */
  next(server: ServerRecord, who: LinkFor, link: ServerLink, gone: AbortSignal): Promise<ModernUpstream | undefined> {
    const key = keyOf(server, who, link);
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting);
    const { promise, resolve } = Promise.withResolvers<ModernUpstream | undefined>();
    const leave = () => {
      waiting.delete(resolve);
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
      resolve(undefined);
    };
    waiting.add(resolve);
    if (gone.aborted) leave();
    else gone.addEventListener("abort", leave, { once: true });
    return promise.finally(() => gone.removeEventListener("abort", leave));
  }
}

/** An instance over HTTP is everybody's. */
function keyOf({ id }: ServerRecord, { principal, capabilities }: LinkFor, { carrier }: ServerLink): string {
  return carrier.kind === "http" ? id : JSON.stringify([id, principal, capabilities]);
}
