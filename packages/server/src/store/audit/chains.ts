import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { AuditEntry } from "../../core/audit.ts";
import { AppError } from "../../core/errors.ts";
import { auditLimits } from "../limits.ts";
import { isConflict, noteOf } from "../sqlite-error.ts";
import type { ChainHead, OpenedChains, OpenOrder } from "../sqlite-protocol.ts";
import { brokenEntry } from "./broken-entry.ts";
import { genesisHash, hashRow, rowOf, sizeOf } from "./chain.ts";
import { readKeys } from "./checkpoint.ts";
import { Contents } from "./contents.ts";
import { setAside } from "./foreign-rows.ts";
import { openChains } from "./open-chains.ts";
import { RowMac } from "./row-mac.ts";

const insertSql = `insert into audit
  (position, namespace, sequence, at_ms, type, actor, sandbox_id, request_id, run_id, detail, hash, mac, chain_bytes)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

interface Mark {
  heads: Map<string, ChainHead>;
  position: number;
}

/**
 * The growing ends of all chains, on one connection. They are read once and remembered then: a row that somebody takes out
 * leaves a gap, and one that somebody puts in is met when its place is needed, and set aside.
 */
export class Chains {
  readonly #db: DatabaseSync;
  #mac: RowMac | undefined;
  /** Committed. */
  readonly #heads = new Map<string, ChainHead>();
  #position = 0;
  /** Of the transaction. */
  #next: Mark = { heads: new Map(), position: 0 };
  #insert: StatementSync | undefined;
  readonly #contents: Contents;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#contents = new Contents(db);
  }

  /** Looks at what is behind the newest signatures, sets aside what this daemon did not write, and says so in the log. */
  open({ rowKey, publicKey, head, atMs }: OpenOrder): OpenedChains {
    const mac = new RowMac(rowKey);
    this.#mac = mac;
    const { chains, position, broken } = openChains(this.#db, { mac, keys: readKeys([publicKey]), head, atMs });
    this.#next = { heads: new Map(chains.map((chain) => [chain.head.namespace, chain.head])), position };
    for (const { namespace, what } of broken) this.append(brokenEntry(namespace, what), atMs);
    const opened = new Map(chains.map((chain) => [chain.head.namespace, chain]));
    const none = { checkpoint: { sequence: 0, atMs: 0 }, floorBytes: 0 };
    return {
      chains: [...this.#next.heads].map(([namespace, head]) => ({ ...(opened.get(namespace) ?? none), head })),
    };
  }

  begin(): void {
    this.#next = { heads: new Map(), position: this.#position };
  }

  commit(): void {
    for (const [namespace, head] of this.#next.heads) this.#heads.set(namespace, head);
    this.#position = this.#next.position;
  }

  /** For `backTo`, which forgets what was appended since. */
  mark(): Mark {
    return { ...this.#next, heads: new Map(this.#next.heads) };
  }

  backTo(mark: Mark): void {
    this.#next = mark;
  }

  append(entry: AuditEntry, atMs: number): ChainHead {
    try {
      return this.#put(entry, atMs);
    } catch (error) {
      if (!isConflict(noteOf(error))) throw error;
      return this.#putInPlaceOfForeign(entry, atMs);
    }
  }

  /** Only this connection writes rows: one that stands where the next belongs is somebody else's. */
  #putInPlaceOfForeign(entry: AuditEntry, atMs: number): ChainHead {
    const { namespace, sequence } = this.#last(entry.namespace);
    const rows = setAside(this.#db, { namespace, after: sequence, afterPosition: this.#next.position, atMs });
    const what = `${rows} rows that this daemon did not write stood where row ${sequence + 1} belongs, and were set aside`;
    this.#put(brokenEntry(namespace, what), atMs);
    return this.#put(entry, atMs);
  }

  #last(namespace: string): ChainHead {
    const known = this.#next.heads.get(namespace) ?? this.#heads.get(namespace);
    if (known !== undefined) return known;
    if (this.#heads.size + this.#next.heads.size >= auditLimits.chains)
      throw new AppError("limit_exceeded", `too many namespaces in the audit log (limit: ${auditLimits.chains})`);
    return { namespace, position: 0, sequence: 0, hash: genesisHash, bytes: 0 };
  }

  #put(entry: AuditEntry, atMs: number): ChainHead {
    if (this.#mac === undefined) throw new AppError("internal", "the audit log is not open for writing");
    const last = this.#last(entry.namespace);
    const position = this.#next.position + 1;
    const row = rowOf(entry, last.sequence + 1, atMs);
    const { sequence, namespace, type, actor, sandboxId, requestId, runId, detail } = row;
    const hash = hashRow(last.hash, row);
    const bytes = last.bytes + sizeOf(detail);
    const mac = this.#mac.of(position, hash);
    this.#insert ??= this.#db.prepare(insertSql);
    const values = [type, actor, sandboxId, requestId, runId, detail, hash, mac, bytes] as const;
    this.#insert.run(position, namespace, sequence, row.atMs, ...values);
    const head = { namespace, position, sequence, hash, bytes };
    if (entry.content !== undefined) this.#contents.put({ position, namespace, atMs: row.atMs }, entry.content);
    this.#next.heads.set(namespace, head);
    this.#next.position = position;
    return head;
  }
}
