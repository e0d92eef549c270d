import type { AuditEntry, AuditRow } from "../core/audit.ts";
import { type Audience, type EventKind, events } from "../core/events.ts";
import type { EventType, FeedType, JournalEvent, News } from "../core/journal.ts";

const kinds: Readonly<Record<string, EventKind>> = events;

export function isFor(audience: Audience, type: string): boolean {
  return kinds[type]?.audience.includes(audience) === true;
}

export const feedTypes = (Object.keys(events) as EventType[]).filter((type) => isFor("feed", type)) as FeedType[];

/** The row of the audit log that an event becomes. */
export function entryOf(news: News): AuditEntry {
  const { type, sandboxId = null, runId, data, content } = news;
  const who =
    news.by === "system"
      ? { namespace: news.namespace, actor: "system", requestId: null }
      : {
          namespace: news.namespace ?? news.by.principal.namespace,
          actor: news.by.principal.id,
          requestId: news.by.requestId === "" ? null : news.by.requestId,
        };
  return {
    type,
    ...who,
    sandboxId,
    ...(runId == null ? {} : { runId }),
    ...(content && { content }),
    detail: data as AuditEntry["detail"],
  };
}

/** The event of a row; undefined where subscribers do not get its type. */
export function eventOf(row: Omit<AuditRow, "sequence" | "hash">): JournalEvent | undefined {
  const { type, position, atMs, namespace, sandboxId, runId, detail } = row;
  if (!isFor("feed", type)) return undefined;
  return Object.freeze({
    type,
    id: position,
    at: new Date(atMs).toISOString(),
    namespace,
    sandbox_id: sandboxId,
    run_id: runId,
    data: detail,
  }) as JournalEvent;
}
