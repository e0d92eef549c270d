import type { Batch } from "./batch.ts";
import type { FeedType, Position } from "./journal.ts";

/** Whom to tell of events. */
export interface Webhook {
  id: string;
  namespace: string;
  url: string;
  /** Events of these types; all when empty. */
  types: readonly FeedType[];
  /** `whsec_` and base64; shown once. */
  secret: string;
  createdAtMs: number;
  /** Deliveries are stored for the events up to this one. It begins where the journal ends. */
  position: Position;
}

/** One event on its way to one webhook. It is tried again until it arrives or has been tried often enough. */
export interface Delivery {
  id: string;
  webhookId: string;
  namespace: string;
  type: FeedType;
  /** Body of the request: each attempt sends the same bytes. */
  body: string;
  createdAtMs: number;
  attempts: number;
  state: "pending" | "delivered" | "dead";
  /** When it is tried next. */
  dueAtMs: number;
  lastError: string | null;
}

export interface Webhooks {
  insert(webhook: Webhook, within?: Batch): Promise<void>;
  get(id: string): Promise<Webhook | undefined>;
  list(namespace?: string): Promise<Webhook[]>;
  /** With its deliveries. */
  delete(id: string, within?: Batch): Promise<void>;
  enqueue(delivery: Delivery, within?: Batch): Promise<void>;
  /** Deliveries are stored up to that event. */
  reached(id: string, position: Position, within?: Batch): Promise<void>;
  /** Pending ones, the earliest due first. */
  due(limit: number): Promise<Delivery[]>;
  deliveries(webhookId: string, state?: Delivery["state"]): Promise<Delivery[]>;
  /** How many are pending, by webhook; those without any left out. */
  countPending(): Promise<Map<string, number>>;
  getDelivery(id: string): Promise<Delivery | undefined>;
  settle(id: string, changes: Partial<Pick<Delivery, "attempts" | "state" | "dueAtMs" | "lastError">>): Promise<void>;
  /** Removes delivered and dead ones, except the newest of each webhook. */
  prune(keep: number): Promise<void>;
}
