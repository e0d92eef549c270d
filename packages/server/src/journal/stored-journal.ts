import type { Audit, AuditEntry } from "../core/audit.ts";
import type { Batch } from "../core/batch.ts";
import { AppError } from "../core/errors.ts";
import type { EventFilter, EventReader, Facts, Journal, JournalEvent, News, Position } from "../core/journal.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { defined } from "../lib/defined.ts";
import { Turn } from "../lib/turn.ts";
import { auditLimits } from "../store/limits.ts";
import { AuditRoom } from "./audit-room.ts";
import { CountedRows } from "./counted-rows.ts";
import { entryOf, eventOf, isFor } from "./event-row.ts";
import { JournalReader } from "./journal-reader.ts";
import { journalLimits } from "./limits.ts";
import { RecentEvents } from "./recent-events.ts";

export interface JournalParts {
  /** Begins a transaction of the store. */
  batch: () => Batch;
  audit: Pick<Audit, "search" | "bytes" | "shrink">;
  /** Maximum size of one namespace's rows. Default: that of `auditLimits`. */
  namespaceBytes?: number;
  /** Called with each event before its readers get it. */
  onEvent?: (event: JournalEvent) => void;
  clock?: Clock;
  /** Receives what kept counts from being written, or old rows from making room; both are tried again. */
  onError: (error: unknown) => void;
}

/**
 * The daemon's journal: what it records is in the audit log before a reader gets it (S103), or is counted there with others
 * of its minute (S107).
 */
export class StoredJournal implements Journal, AsyncDisposable {
  readonly #parts: JournalParts;
  readonly #recent: RecentEvents;
  /** One page of the store at a time: those who come back do not hold up those who record. */
  readonly #turn = new Turn();
  readonly #counted: CountedRows;
  readonly #room: AuditRoom;
  #readers = 0;
  #catchingUp = 0;

  private constructor(parts: JournalParts, last: Position) {
    this.#parts = parts;
    this.#recent = new RecentEvents(last);
    const { audit, clock = systemClock, namespaceBytes = auditLimits.namespaceBytes.default, onError } = parts;
    const write = (entries: readonly AuditEntry[]) => this.#store(entries, this.#parts.batch());
    this.#counted = new CountedRows({ write, clock, onError });
    this.#room = new AuditRoom({ audit, clock, namespaceBytes, record: (news) => this.record(news), onError });
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
    const rows: AuditEntry[] = [];
    const counted: AuditEntry[] = [];
    const announced: AuditEntry[] = [];
    for (const one of news) {
      if (!isFor("audit", one.type)) continue;
      const entry = entryOf(one);
      const judgement = this.#counted.judge(entry);
      (judgement === "row" ? rows : counted).push(entry);
      if (judgement !== "first") continue;
      announced.push(entry);
      rows.push(this.#counted.announce(entry));
    }
    const batch = this.#parts.batch();
    try {
      await this.#store(rows, batch, facts);
    } catch (error) {
      for (const entry of announced) this.#counted.unannounce(entry);
      throw error;
    }
    for (const entry of counted) this.#counted.count(entry);
    for (const one of news) if (!isFor("audit", one.type)) this.tell(one);
  }

  /** Returns when readers can have the events of the entries. */
  async #store(entries: readonly AuditEntry[], batch: Batch, facts?: Facts): Promise<void> {
    for (const entry of entries) batch.record(entry);
    await facts?.(batch);
    const places = await batch.commit();
    for (const [index, entry] of entries.entries()) {
      const place = places[index];
      this.#room.look(entry.namespace);
      if (place !== undefined) this.#add(place.position, eventOf({ ...entry, ...place, runId: entry.runId ?? null }));
    }
  }

  requireRoom(principal: Parameters<Journal["requireRoom"]>[0]): void {
    this.#room.require(principal);
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
      throw new AppError("limit_exceeded", `too many readers of events (limit: ${journalLimits.readers})`, {
        hint: "close unused event streams",
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
      throw new AppError(
        "limit_exceeded",
        `too many readers of older events at once (limit: ${journalLimits.catchingUp})`,
        {
          retryAfterMs: journalLimits.retryMs,
        },
      );
    this.#catchingUp++;
    return () => this.#catchingUp--;
  }

  /** Writes the counts of this minute. Readers end once they have read what is there. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#counted[Symbol.asyncDispose]();
    await this.#room[Symbol.asyncDispose]();
    this.#recent.close();
  }
}

/** An event that is not stored: for those who read now. */
function liveEvent({ type, sandboxId = null, runId = null, data, ...author }: News): JournalEvent {
  const namespace = author.by === "system" ? author.namespace : (author.namespace ?? author.by.principal.namespace);
  const at = new Date().toISOString();
  return Object.freeze({ type, id: null, at, namespace, sandbox_id: sandboxId, run_id: runId, data }) as JournalEvent;
}
