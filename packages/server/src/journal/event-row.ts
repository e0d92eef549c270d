import { hash } from "node:crypto";
import type { AuditEntry, AuditRow } from "../core/audit.ts";
import { type Audience, type EventKind, events } from "../core/events.ts";
import type { EventType, FeedType, JournalEvent, News } from "../core/journal.ts";
import { auditLimits } from "../store/limits.ts";

const kinds: Readonly<Record<string, EventKind>> = events;

export function isFor(audience: Audience, type: string): boolean {
  return kinds[type]?.audience.includes(audience) === true;
}

/** True when an entry may be counted with others like it in place of a row of its own. */
export function isCountable({ type, detail }: AuditEntry): boolean {
  return kinds[type]?.isCounted?.(detail) === true;
}

/** True for a type that no flood of other types may hide. */
export function hasOwnBudget(type: string): boolean {
  return kinds[type]?.hasOwnBudget === true;
}

export const feedTypes = (Object.keys(events) as EventType[]).filter((type) => isFor("feed", type)) as FeedType[];

const paths = ["path", "from", "to"];

/** A path may be 4 KiB of an agent's choice: past a length its beginning stands for it, with the hash of the whole. */
function withShortPaths(detail: AuditEntry["detail"]): AuditEntry["detail"] {
  const isLong = (name: string) => String(detail[name] ?? "").length > auditLimits.pathCharacters;
  const long = paths.filter(isLong);
  return long.length === 0
    ? detail
    : { ...detail, ...Object.fromEntries(long.map((name) => [name, shorten(String(detail[name]))])) };
}

function shorten(path: string): string {
  const start = path.slice(0, auditLimits.pathCharacters).replace(/[\ud800-\udbff]$/, "");
  return `${start}… sha256:${hash("sha256", path)}`;
}

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
    detail: withShortPaths(data as AuditEntry["detail"]),
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
