import type { EventReader, Journal, JournalEvent } from "../core/journal.ts";
import { toolLimits } from "../tools/limits.ts";

/** One thing that happened, as an agent reads it. */
export interface Trace {
  timestamp: string;
  level: "info" | "warning" | "error";
  message: string;
  duration_ms: number | null;
  sandbox_id: string | null;
}

/** The last events of a namespace, and word of new ones. */
export class Traces implements AsyncDisposable {
  readonly #journal: Pick<Journal, "read" | "newest">;
  readonly #watchers = new Set<(namespace: string) => void>();
  readonly #reader: EventReader;
  readonly #reading: Promise<void>;

  constructor(journal: Pick<Journal, "read" | "newest">) {
    this.#journal = journal;
    this.#reader = journal.read();
    this.#reading = this.#follow();
  }

  /** Newest last. */
  async of(namespace: string): Promise<Trace[]> {
    return (await this.#journal.newest(namespace, toolLimits.traces)).map(toTrace);
  }

  /** Calls back after each event, with its namespace, until the returned function is called. */
  watch(happened: (namespace: string) => void): () => void {
    this.#watchers.add(happened);
    return () => this.#watchers.delete(happened);
  }

  async #follow(): Promise<void> {
    for await (const event of this.#reader)
      if (event.type !== "events.lag") for (const happened of this.#watchers) happened(event.namespace);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reader[Symbol.dispose]();
    await this.#reading;
  }
}

export function toTrace({ type, sandbox_id, run_id, at, data }: JournalEvent): Trace {
  const { duration_ms: duration = null, ...rest } = data as Readonly<Record<string, unknown>>;
  const shown = Object.entries({ run_id, ...rest }).flatMap(([name, value]) =>
    value === null ? [] : [`${name}=${typeof value === "object" ? JSON.stringify(value) : value}`],
  );
  return {
    timestamp: at,
    level: levelOf(type),
    message: [type, ...shown].join(" "),
    duration_ms: typeof duration === "number" ? duration : null,
    sandbox_id,
  };
}

function levelOf(type: string): Trace["level"] {
  if (/\.(failed|timeout|exceeded)$/.test(type)) return "error";
  return /\.(denied|expired|low|backpressure)$/.test(type) ? "warning" : "info";
}
