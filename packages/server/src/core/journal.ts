import type { z } from "zod";
import type { AuditContent } from "./audit.ts";
import type { Batch } from "./batch.ts";
import type { events } from "./events.ts";
import type { Caller, Principal } from "./principal.ts";

type Table = typeof events;

export type EventType = keyof Table;
type EventData<T extends EventType> = z.input<Table[T]["data"]>;

/** Types that subscribers, webhooks and MCP clients can follow. */
export type FeedType = { [T in EventType]: "feed" extends Table[T]["audience"][number] ? T : never }[EventType];

/** A place in the store: one number that grows over all rows of the audit log, and goes on after a restart. */
export type Position = number;

/** One event, in the one shape that every reader gets. */
export type JournalEvent<T extends EventType = EventType> = {
  [K in T]: {
    type: K;
    /** Null for what is not stored: it reaches those who listen now, and nobody later. In the library it counts from 1. */
    id: Position | null;
    /** ISO 8601. */
    at: string;
    namespace: string;
    sandbox_id: string | null;
    run_id: string | null;
    data: EventData<K>;
  };
}[T];

/** In place of events that a reader was too slow for, or that retention has removed. */
export interface LagEvent {
  type: "events.lag";
  /** The last event that is missing. */
  id: Position | null;
  at: string;
  dropped: number;
}

/** Event before it has a place and a time. */
export type Happening<T extends EventType = EventType> = {
  [K in T]: {
    type: K;
    sandboxId?: string | null;
    runId?: string | null;
    data: EventData<K>;
    /** Kept beside the row; no reader of events gets it. */
    content?: AuditContent;
  };
}[T];

/** A caller's event is of the caller's namespace unless it names another. */
type Author = { by: Caller; namespace?: string } | { by: "system"; namespace: string };
export type News<T extends EventType = EventType> = Happening<T> & Author;

/** Changes records in the transaction that stores the event. */
export type Facts = (within: Batch) => unknown;

export interface EventFilter {
  /** Undefined: all namespaces. */
  namespace?: string;
  sandboxId?: string;
  types?: readonly EventType[];
}

/** Ends when its reader stops or the journal closes. */
export type EventReader = AsyncIterableIterator<JournalEvent | LagEvent> & Disposable;

/** Records what happens, and returns it to readers after it is stored. */
export interface Journal {
  /** The newest stored event. */
  readonly last: Position;
  /** Resolves when the event, and the records that `facts` changes, would survive a kill -9. Readers get it after that. */
  record(news: News, facts?: Facts): Promise<void>;
  /** Several events in one transaction. */
  recordAll(news: readonly News[], facts?: Facts): Promise<void>;
  /** Returns an event to those who read now, and stores nothing. */
  tell(news: News): void;
  /**
   * Refuses work that would add events while the audit log of its namespace is full (S108): ask before an effect. Operators go
   * on; work of nobody is refused.
   */
  requireRoom(principal: Pick<Principal, "namespace"> & Partial<Pick<Principal, "role">>): void;
  /** Events after that position, as far as they are kept; from now on without one. */
  read(filter?: EventFilter, after?: Position): EventReader;
  /** The last stored events of a namespace, oldest first; fewer where most of its newest rows are for the log alone. */
  newest(namespace: string, count: number): Promise<JournalEvent[]>;
}

export type Recorder = Pick<Journal, "record" | "recordAll" | "tell" | "requireRoom">;

export type EventListener = (event: JournalEvent) => unknown;
export type EventStream = AsyncIterableIterator<JournalEvent | LagEvent> & Disposable;

/** The library's events: of this process, not stored. */
export interface Events {
  /** Calls the listener in the order of events, before what caused them goes on. Returns a function that ends the subscription. */
  subscribe(listener: EventListener, filter?: EventFilter): () => void;
  /** Events from now on, until the reader stops or their source closes. A slow reader loses the oldest, and gets their number. */
  stream(filter?: EventFilter): EventStream;
}
