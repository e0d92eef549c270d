import { hash } from "node:crypto";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { AuditEntry } from "../../core/audit.ts";
import { AppError } from "../../core/errors.ts";
import { auditLimits } from "../../core/store-limits.ts";
import { isConflict, noteOf } from "../sqlite-error.ts";
import type { ChainHead } from "../sqlite-protocol.ts";
import { type ChainedRow, canonical, canonicalRow, storable } from "./canonical.ts";

/** What stands before the first row. */
export const genesisHash = "0".repeat(64);

export function hashRow(previous: string, row: ChainedRow): string {
  return hash("sha256", `${previous}\n${canonicalRow(row)}`);
}

function name(text: string): string {
  const kept = storable(text);
  if (kept.length > auditLimits.nameCharacters) throw new AppError("too_large", "a name in an audit entry is too long");
  return kept;
}

/** The row that an entry becomes. */
function rowOf(entry: AuditEntry, sequence: number, atMs: number): ChainedRow {
  const detail = canonical(entry.detail);
  if (Buffer.byteLength(detail) > auditLimits.entryBytes)
    throw new AppError("too_large", `the detail of an audit entry is larger than ${auditLimits.entryBytes} bytes`);
  return {
    sequence,
    atMs: Math.trunc(atMs),
    type: name(entry.type),
    namespace: name(entry.namespace),
    actor: name(entry.actor),
    sandboxId: entry.sandboxId === null ? null : name(entry.sandboxId),
    requestId: entry.requestId === null ? null : name(entry.requestId),
    runId: entry.runId === undefined ? null : name(entry.runId),
    detail,
  };
}

const insertSql = `insert into audit (sequence, at_ms, type, namespace, actor, sandbox_id, request_id, run_id, detail, hash)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const lastSql = "select sequence, hash from audit order by sequence desc limit 1";
const anchorSql = "select sequence, hash from audit_checkpoints where kind = 'anchor' order by sequence desc limit 1";

/**
 * The growing end of the chain, on one connection. It is read once and remembered then: whoever takes the last rows out of
 * the database does not have the next ones in their place, but leaves a gap.
 */
export class Chain {
  readonly #db: DatabaseSync;
  /** Committed; undefined until it is needed. */
  #head: ChainHead | undefined;
  /** Of the transaction. */
  #next: ChainHead | undefined;
  #insert: StatementSync | undefined;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  get head(): ChainHead | undefined {
    return this.#head;
  }

  begin(): void {
    this.#next = this.#head;
  }

  commit(): void {
    this.#head = this.#next;
  }

  /** For `backTo`, which forgets what was appended since. */
  mark(): ChainHead | undefined {
    return this.#next;
  }

  backTo(mark: ChainHead | undefined): void {
    this.#next = mark;
  }

  append(entry: AuditEntry, atMs: number): ChainHead {
    const known = this.#next;
    if (known !== undefined) {
      try {
        return this.#put(known, entry, atMs);
      } catch (error) {
        if (!isConflict(noteOf(error))) throw error; // else somebody has put rows there
      }
    }
    return this.#put(this.#read(), entry, atMs);
  }

  #put(last: ChainHead, entry: AuditEntry, atMs: number): ChainHead {
    const row = rowOf(entry, last.sequence + 1, atMs);
    const hash = hashRow(last.hash, row);
    const { sequence, type, namespace, actor, sandboxId, requestId, runId, detail } = row;
    this.#insert ??= this.#db.prepare(insertSql);
    this.#insert.run(sequence, row.atMs, type, namespace, actor, sandboxId, requestId, runId, detail, hash);
    this.#next = { sequence, hash };
    return this.#next;
  }

  #read(): ChainHead {
    const found = this.#db.prepare(lastSql).get() ?? this.#db.prepare(anchorSql).get();
    if (found === undefined) return { sequence: 0, hash: genesisHash };
    return { sequence: Number(found.sequence), hash: String(found.hash) };
  }
}
