import type { Audit, AuditEntry } from "../../core/audit.ts";
import type { Batch } from "../../core/batch.ts";
import type { Feed, FeedType } from "../../core/feed.ts";
import type { Caller } from "../../core/principal.ts";
import type { SandboxRecord, SandboxRecords } from "../../core/sandbox-record.ts";

/** On whose behalf; undefined for what the daemon does by itself. */
export type Actor = Caller | undefined;

type Detail = Readonly<Record<string, string | number | boolean | null>>;

export interface Happened {
  type: FeedType;
  actor: Actor;
  detail: Detail;
}

/** An entry of the audit log that is no event. */
export interface Noted extends Omit<Happened, "type"> {
  type: string;
  runId?: string;
}

export interface LedgerParts {
  records: SandboxRecords;
  audit: Pick<Audit, "record">;
  batch(): Batch;
  feed: Pick<Feed, "publish">;
}

/** Writes a change of a sandbox and its audit entry in one transaction, then the event. What it resolves would survive a kill -9. */
export class Ledger {
  readonly #parts: LedgerParts;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
  }

  insert(record: SandboxRecord, happened: Happened): Promise<void> {
    return this.#write(record, happened, (batch) => this.#parts.records.insert(record, batch));
  }

  async update(
    record: SandboxRecord,
    changes: Partial<Omit<SandboxRecord, "id" | "namespace">>,
    happened: Happened,
  ): Promise<void> {
    await this.#write(record, happened, (batch) => this.#parts.records.update(record.id, changes, batch));
  }

  /** What changes no record. */
  async note(record: SandboxRecord, happened: Noted): Promise<void> {
    await this.#parts.audit.record(entryOf(record, happened));
  }

  /** The plain, visible counterpart of secrets: by name, as it starts (SEC-04). */
  async noteEnvironment(record: SandboxRecord, actor: Actor): Promise<void> {
    const names = Object.keys(record.env).sort();
    if (names.length === 0) return;
    await this.note(record, { type: "sandbox.environment", actor, detail: { variables: names.join(" ") } });
  }

  tell(namespace: string, sandboxId: string | null, type: FeedType, data: Detail): void {
    this.#parts.feed.publish({ type, namespace, sandboxId, data });
  }

  async #write(record: SandboxRecord, happened: Happened, change: (batch: Batch) => Promise<void>): Promise<void> {
    const batch = this.#parts.batch();
    await change(batch);
    batch.record(entryOf(record, happened));
    await batch.commit();
    this.tell(record.namespace, record.id, happened.type, happened.detail);
  }
}

export function entryOf(record: SandboxRecord, { type, actor, runId, detail }: Noted): AuditEntry {
  return {
    type,
    namespace: record.namespace,
    actor: actor?.principal.id ?? "system",
    sandboxId: record.id,
    requestId: actor?.requestId ?? null,
    ...(runId === undefined ? {} : { runId }),
    detail,
  };
}
