import type { Audit } from "../core/audit.ts";
import type { Batch } from "../core/batch.ts";
import { defined } from "../core/defined.ts";
import { AppError } from "../core/errors.ts";
import type { EventFilter, EventReader, Facts, Journal, JournalEvent, News, Position } from "../core/journal.ts";
import { journalLimits } from "../core/limits.ts";
import { auditLimits } from "../core/store-limits.ts";
import { Turn } from "../core/turn.ts";
import { entryOf, eventOf, isFor } from "./event-row.ts";
import { JournalReader } from "./journal-reader.ts";
import { RecentEvents } from "./recent-events.ts";

export interface JournalParts {
  /** Begins a transaction of the store. */
  batch: () => Batch;
  audit: Pick<Audit, "search">;
  /** Called with each event before its readers get it. */
  onEvent?: (event: JournalEvent) => void;
}

/** The daemon's journal: what it records is in the audit log before a reader gets it (S103). */
export class StoredJournal implements Journal, Disposable {
  readonly #parts: JournalParts;
  readonly #recent: RecentEvents;
  /** One page of the store at a time: those who come back do not hold up those who record. */
  readonly #turn = new Turn();
  #readers = 0;
  #catchingUp = 0;

  private constructor(parts: JournalParts, last: Position) {
    this.#parts = parts;
    this.#recent = new RecentEvents(last);
  }

  static async open(parts: JournalParts): Promise<StoredJournal> {
    const [last] = await parts.audit.search({ before: Number.MAX_SAFE_INTEGER, limit: 1 });
    return new StoredJournal(parts, last?.position ?? 0);
  }

  /** The newest event that is stored. */
  get last(): Position {
    return this.#recent.last;
  }

  record(news: News, facts?: Facts): Promise<void> {
    return this.recordAll([news], facts);
  }

  async recordAll(news: readonly News[], facts?: Facts): Promise<void> {
    const entries = news.map((one) => (isFor("audit", one.type) ? entryOf(one) : undefined));
    const batch = this.#parts.batch();
    for (const entry of entries) if (entry !== undefined) batch.record(entry);
    await facts?.(batch);
    const places = await batch.commit();
    for (const [index, one] of news.entries()) {
      const entry = entries[index];
      if (entry === undefined) {
        this.tell(one);
        continue;
      }
      const place = places.shift();
      if (place !== undefined) this.#add(place.position, eventOf({ ...entry, ...place, runId: entry.runId ?? null }));
    }
  }

  tell(news: News): void {
    this.#add(null, liveEvent(news));
  }

  #add(position: Position | null, event: JournalEvent | undefined): void {
    if (event !== undefined) this.#parts.onEvent?.(event);
    this.#recent.add(position, event);
  }

  read(filter: EventFilter = {}, after?: Position): EventReader {
    if (this.#readers >= journalLimits.readers)
      throw new AppError("limit_exceeded", `more than ${journalLimits.readers} readers of events`, {
        hint: "end those that are not needed any more",
        retryAfterMs: journalLimits.retryMs,
      });
    this.#readers++;
    const { audit } = this.#parts;
    try {
      return new JournalReader({
        recent: this.#recent,
        filter,
        after,
        page: (namespace, position) =>
          this.#turn.take(() =>
            audit.search({ ...defined({ namespace }), after: position, limit: journalLimits.page }),
          ),
        before: (namespace, position) =>
          this.#turn.take(async () => (await audit.search({ namespace, before: position, limit: 1 }))[0]),
        enterStore: () => this.#enterStore(),
        ended: () => this.#readers--,
      });
    } catch (error) {
      this.#readers--;
      throw error;
    }
  }

  async newest(namespace: string, count: number): Promise<JournalEvent[]> {
    const found: JournalEvent[] = [];
    let before = Number.MAX_SAFE_INTEGER;
    for (let page = 0; page < journalLimits.newestPages && found.length < count; page++) {
      const limit = auditLimits.searched.max;
      const rows = await this.#turn.take(() => this.#parts.audit.search({ namespace, before, limit }));
      found.push(...rows.flatMap((row) => eventOf(row) ?? []));
      if (rows.length < limit) break;
      before = rows.at(-1)?.position ?? 0;
    }
    return found.slice(0, count).reverse();
  }

  #enterStore(): () => void {
    if (this.#catchingUp >= journalLimits.catchingUp)
      throw new AppError("limit_exceeded", `${journalLimits.catchingUp} readers catch up on older events already`, {
        retryAfterMs: journalLimits.retryMs,
      });
    this.#catchingUp++;
    return () => this.#catchingUp--;
  }

  /** Readers end once they have read what is there. */
  [Symbol.dispose](): void {
    this.#recent.close();
  }
}

/** An event that is not stored: for those who read now. */
function liveEvent({ type, sandboxId = null, runId = null, data, ...author }: News): JournalEvent {
  const namespace = author.by === "system" ? author.namespace : (author.namespace ?? author.by.principal.namespace);
  const at = new Date().toISOString();
  return Object.freeze({ type, id: null, at, namespace, sandbox_id: sandboxId, run_id: runId, data }) as JournalEvent;
}
