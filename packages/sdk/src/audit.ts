import { readLines } from "./lines.ts";
import type { Transport } from "./transport.ts";

export interface AuditRow {
  /** In the timeline of the whole store. */
  position: number;
  /** In the chain of its namespace. */
  sequence: number;
  at: string;
  type: string;
  namespace: string;
  actor: string;
  sandbox_id: string | null;
  request_id: string | null;
  run_id: string | null;
  detail: Record<string, unknown>;
  hash: string;
}

export interface AuditFilter {
  sandbox_id?: string;
  actor?: string;
  type?: string;
  run_id?: string;
  /** In type, actor or detail. */
  text?: string;
  from?: string;
  to?: string;
  all_namespaces?: boolean;
}

/** Arguments and result of a tool call, beside its entry. */
export interface AuditContent {
  /** `redacted`: without values of secrets. `full`: as it was, for administrators. */
  kind: "redacted" | "full";
  /** JSON, cut where it was longer than 64 KiB. */
  arguments: string;
  result: string;
  truncated: boolean;
}

export interface AuditVerdict {
  ok: boolean;
  rows: number;
  /** One of each namespace, by name. */
  chains: ChainVerdict[];
  problems: { namespace: string | null; sequence: number | null; what: string }[];
}

export interface ChainVerdict {
  namespace: string;
  rows: number;
  first: number;
  last: number;
  /** Hash of the last row. Noted elsewhere, it proves all rows up to it. */
  hash: string;
  /** Rows up to this one were pruned; 0 when none were. */
  pruned: number;
  checkpoints: number;
  /** The last rows, behind the newest signature, that a public key alone cannot vouch for. */
  unvouched: number;
}

/** The timeline of a daemon. */
export class AuditLog {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Newest first. */
  search(filter: AuditFilter & { limit?: number; cursor?: string } = {}): Promise<AuditRow[]> {
    return this.#transport.json("GET", "/api/v1/audit", { query: { ...filter } });
  }

  /** Returns the arguments and result of a tool call, where the daemon keeps them (`audit_content`). */
  content(position: number): Promise<AuditContent> {
    return this.#transport.json("GET", `/api/v1/audit/${position}/content`);
  }

  /** Verifies the log of the key's namespace, or with `all_namespaces`, for administrators, of all. */
  verify(query: Pick<AuditFilter, "all_namespaces"> = {}): Promise<AuditVerdict> {
    return this.#transport.json("POST", "/api/v1/audit/verify", { query: { ...query }, timeoutMs: null });
  }

  /** All rows, oldest first, as they come. */
  async *export(filter: AuditFilter & { format?: "jsonl" | "ocsf" } = {}): AsyncGenerator<object, void> {
    const call = { query: { ...filter }, timeoutMs: null };
    yield* readLines<object>(await this.#transport.send("GET", "/api/v1/audit/export", call));
  }
}
