import type { Audit, AuditEntry } from "../../core/audit.ts";
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

export interface LedgerParts {
  records: SandboxRecords;
  audit: Pick<Audit, "record">;
  feed: Pick<Feed, "publish">;
}

/** Where what happens to sandboxes is written: store, audit log, then events. What it resolves would survive a kill -9. */
export class Ledger {
  readonly #parts: LedgerParts;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
  }

  insert(record: SandboxRecord, happened: Happened): Promise<void> {
    return this.#write(this.#parts.records.insert(record), record, happened);
  }

  async update(
    record: SandboxRecord,
    changes: Partial<Omit<SandboxRecord, "id" | "namespace">>,
    happened: Happened,
  ): Promise<void> {
    await this.#write(this.#parts.records.update(record.id, changes), record, happened);
  }

  /** What changes no record. */
  async note(record: SandboxRecord, happened: Omit<Happened, "type"> & { type: string }): Promise<void> {
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

  /** Both at once, so that a store can commit them together. */
  async #write(stored: Promise<void>, record: SandboxRecord, happened: Happened): Promise<void> {
    const logged = this.#parts.audit.record(entryOf(record, happened));
    logged.catch(() => undefined); // where both fail, the first is told
    await stored;
    await logged;
    this.tell(record.namespace, record.id, happened.type, happened.detail);
  }
}

function entryOf(
  record: SandboxRecord,
  { type, actor, detail }: Omit<Happened, "type"> & { type: string },
): AuditEntry {
  return {
    type,
    namespace: record.namespace,
    actor: actor?.principal.id ?? "system",
    sandboxId: record.id,
    requestId: actor?.requestId ?? null,
    detail,
  };
}
