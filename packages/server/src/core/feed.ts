/** Events of a daemon: what subscribers and webhooks are told, each in the namespace it concerns. */

/** The first fourteen hold by name for clients of other sandboxes. */
export const feedTypes = [
  "execution.started",
  "execution.completed",
  "execution.failed",
  "execution.timeout",
  "session.created",
  "session.killed",
  "package.installed",
  "egress.requested",
  "egress.approved",
  "egress.denied",
  "vault.accessed",
  "resource.exceeded",
  "artifact.signed",
  "queue.backpressure",
  "sandbox.created",
  "sandbox.started",
  "sandbox.paused",
  "sandbox.resumed",
  "sandbox.stopped",
  "sandbox.reset",
  "sandbox.forked",
  "sandbox.changed",
  "sandbox.failed",
  "sandbox.destroyed",
  "output.copied",
  "output.failed",
  "artifacts.kept",
  "artifacts.failed",
  "checkpoint.created",
  "checkpoint.deleted",
  "snapshot.created",
  "snapshot.restored",
  "snapshot.deleted",
  "skill.installed",
  "image.building",
  "image.ready",
  "image.failed",
  "image.deleted",
  "template.building",
  "template.ready",
  "template.failed",
  "template.deleted",
  "secret.probing",
  "secret.echoed",
  "disk.low",
  "disk.recovered",
  "gc.completed",
  "record.failed",
  "webhook.failed",
  "key.created",
  "key.revoked",
  "approval.requested",
  "approval.approved",
  "approval.denied",
  "approval.expired",
  "approval.cancelled",
  "approval.revoked",
] as const;
export type FeedType = (typeof feedTypes)[number];

export type FeedValue = string | number | boolean | null;

export interface FeedNews {
  type: FeedType;
  namespace: string;
  sandboxId: string | null;
  /** Names and numbers: never contents or secrets. */
  data: Readonly<Record<string, FeedValue>>;
}

export interface FeedEvent extends FeedNews {
  /** Grows by one an event, from 1 at each start of the daemon. */
  id: number;
  atMs: number;
}

/** In place of events that a reader was too slow for, or that were gone before it came. */
export interface FeedLag {
  type: "events.lag";
  dropped: number;
  /** Of the last event that is missing. */
  id: number;
  atMs: number;
}

export interface FeedFilter {
  /** Undefined: of all namespaces. */
  namespace?: string;
  sandboxId?: string;
  types?: readonly FeedType[];
}

/** Ends when its reader stops or the feed closes. A reader costs a place in the feed, not a queue of its own. */
export type FeedReader = AsyncIterableIterator<FeedEvent | FeedLag> & Disposable;

export interface Feed {
  publish(news: FeedNews): FeedEvent;
  /** Events after that id, as far as they are still there; without one, from now on. */
  read(filter?: FeedFilter, after?: number): FeedReader;
}
