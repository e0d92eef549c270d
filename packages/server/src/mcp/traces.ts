import type { Feed, FeedEvent, FeedReader } from "../core/feed.ts";
import { toolLimits } from "../core/tool-limits.ts";

/** One thing that happened, as an agent reads it. */
export interface Trace {
  timestamp: string;
  level: "info" | "warning" | "error";
  message: string;
  duration_ms: number | null;
  sandbox_id: string | null;
}

/** The last events of each namespace that was active lately. */
export class Traces implements AsyncDisposable {
  readonly #byNamespace = new Map<string, Trace[]>();
  readonly #watchers = new Set<(namespace: string) => void>();
  readonly #reader: FeedReader;
  readonly #reading: Promise<void>;

  constructor(feed: Pick<Feed, "read">) {
    this.#reader = feed.read();
    this.#reading = this.#follow();
  }

  /** Newest last. */
  of(namespace: string): readonly Trace[] {
    return this.#byNamespace.get(namespace) ?? [];
  }

  /** Calls back after each event, with its namespace, until the returned function is called. */
  watch(happened: (namespace: string) => void): () => void {
    this.#watchers.add(happened);
    return () => this.#watchers.delete(happened);
  }

  async #follow(): Promise<void> {
    for await (const event of this.#reader) if (event.type !== "events.lag") this.#keep(event);
  }

  #keep(event: FeedEvent): void {
    const traces = this.#byNamespace.get(event.namespace) ?? [];
    traces.push(toTrace(event));
    if (traces.length > toolLimits.traces) traces.shift();
    this.#byNamespace.delete(event.namespace); // the last to be active stays longest
    this.#byNamespace.set(event.namespace, traces);
    for (const happened of this.#watchers) happened(event.namespace);
    const [oldest] = this.#byNamespace.keys();
    if (this.#byNamespace.size > toolLimits.tracedNamespaces && oldest !== undefined) this.#byNamespace.delete(oldest);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reader[Symbol.dispose]();
    await this.#reading;
  }
}

export function toTrace({ type, sandboxId, atMs, data }: FeedEvent): Trace {
  const { duration_ms: duration = null, ...rest } = data;
  const told = Object.entries(rest).flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]));
  return {
    timestamp: new Date(atMs).toISOString(),
    level: levelOf(type),
    message: [type, ...told].join(" "),
    duration_ms: typeof duration === "number" ? duration : null,
    sandbox_id: sandboxId,
  };
}

function levelOf(type: string): Trace["level"] {
  if (/\.(failed|timeout|exceeded)$/.test(type)) return "error";
  return /\.(denied|expired|low|backpressure)$/.test(type) ? "warning" : "info";
}
