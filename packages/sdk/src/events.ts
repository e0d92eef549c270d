import { type LiveOptions, readLive } from "./live.ts";
import type { Transport } from "./transport.ts";

export interface DaemonEvent {
  /** `events.lag` in place of events that this reader missed. */
  type: string;
  /** Place in the daemon's store, for `after`; null for an event that is not stored. */
  id: number | null;
  at: string;
  namespace?: string;
  sandbox_id?: string | null;
  run_id?: string | null;
  data?: Readonly<Record<string, unknown>>;
  /** Number of dropped events, for `events.lag`. */
  dropped?: number;
}

export interface EventOptions extends LiveOptions {
  types?: readonly string[];
  sandbox_id?: string;
  /** Go on after this id. */
  after?: number;
  /** For administrators. */
  all_namespaces?: boolean;
}

export function readEvents(transport: Transport, options: EventOptions): AsyncGenerator<DaemonEvent, void> {
  const { signal, types, ...rest } = options;
  const call = { query: { ...rest, types: types?.join(",") }, ...(signal === undefined ? {} : { signal }) };
  return readLive<DaemonEvent>(transport, "GET", "/api/v1/events", call);
}
