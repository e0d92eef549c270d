import type { Caller } from "../core/principal.ts";
import { requireScope } from "../core/scope.ts";
import { mcpLimits } from "../mcp-protocol/limits.ts";
import { logs } from "./resources/logs.ts";
import { schemas } from "./resources/schemas.ts";
import { status } from "./resources/status.ts";
import type { Traces } from "./traces.ts";

/** Resources at fixed addresses, and whether anything that happens in a namespace changes them. */
const changing: ReadonlyMap<string, boolean> = new Map([
  [status.uri, true],
  [logs.uri, true],
  [schemas.uri, false],
]);

/** Notifies subscribers of `sandbox://status` and `sandbox://logs` of events in their namespace. */
export class FixedChanges implements Disposable {
  /** Followers by namespace, then by address. */
  readonly #followers = new Map<string, Map<string, number>>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #tell: (namespace: string, uri: string) => void;
  readonly #unwatch: () => void;

  constructor(traces: Pick<Traces, "watch">, tell: (namespace: string, uri: string) => void) {
    this.#tell = tell;
    this.#unwatch = traces.watch((namespace) => this.#changed(namespace));
  }

  has(uri: string): boolean {
    return changing.has(uri);
  }

  follow({ principal }: Caller, uri: string): () => void {
    requireScope(principal, "read");
    if (changing.get(uri) !== true) return () => undefined;
    const { namespace } = principal;
    this.#count(namespace, uri, 1);
    let ended = false;
    return () => {
      if (!ended) this.#count(namespace, uri, -1);
      ended = true;
    };
  }

  #count(namespace: string, uri: string, more: 1 | -1): void {
    const own = this.#followers.get(namespace) ?? new Map<string, number>();
    const left = (own.get(uri) ?? 0) + more;
    if (left > 0) own.set(uri, left);
    else own.delete(uri);
    if (own.size > 0) this.#followers.set(namespace, own);
    else this.#followers.delete(namespace);
  }

  #changed(namespace: string): void {
    if (!this.#followers.has(namespace) || this.#timers.has(namespace)) return;
    const tell = () => {
      this.#timers.delete(namespace);
      for (const uri of this.#followers.get(namespace)?.keys() ?? []) this.#tell(namespace, uri);
    };
    this.#timers.set(namespace, setTimeout(tell, mcpLimits.updatesEveryMs).unref());
  }

  [Symbol.dispose](): void {
    this.#unwatch();
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}
