import { events } from "../packages/server/src/core/events.ts";
import type { EventType, JournalEvent, News, Recorder } from "../packages/server/src/core/journal.ts";
import { StoredJournal } from "../packages/server/src/journal/stored-journal.ts";
import type { Store } from "../packages/server/src/store/store.ts";

/** The journal of a store. */
export function journalOf(
  { audit, batch }: Pick<Store, "audit" | "batch">,
  onEvent: (event: JournalEvent) => void = () => undefined,
): Promise<StoredJournal> {
  const onError = (error: unknown) => {
    throw error;
  };
  return StoredJournal.open({ audit, batch, onEvent, onError });
}

const refuse = () => Promise.reject(new Error("no journal"));
export const noJournal: Recorder = {
  record: refuse,
  recordAll: refuse,
  tell: () => undefined,
  requireRoom: () => undefined,
};

/** Changes records, and records nothing. */
export const silent = (journal: StoredJournal): Recorder => ({
  record: (_, facts) => journal.recordAll([], facts),
  recordAll: (_, facts) => journal.recordAll([], facts),
  tell: () => undefined,
  requireRoom: () => undefined,
});

/** An event that nobody did, and that is not stored. */
export const backpressure = (namespace: string, waiting: number): News => ({
  type: "queue.backpressure",
  by: "system",
  namespace,
  data: { waiting },
});

/** Holds each event against what the table says of its type. */
export class EventChecks {
  readonly #strays: string[] = [];

  readonly onEvent = ({ type, data }: JournalEvent): void => {
    const { error } = events[type as EventType].data.safeParse(data);
    if (error !== undefined) this.#strays.push(`${type} ${JSON.stringify(data)}: ${error.message}`);
  };

  checkAll(): void {
    if (this.#strays.length > 0) throw new Error(this.#strays.join("\n"));
  }
}
