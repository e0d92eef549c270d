import type { Kysely } from "kysely";
import type {
  Audit,
  AuditContent,
  AuditEntry,
  AuditPosition,
  AuditQuery,
  AuditRow,
  AuditVerdict,
} from "../../core/audit.ts";
import { defined } from "../../lib/defined.ts";
import type { Schema } from "../schema.ts";
import type { ChainHead, OpenedChain } from "../sqlite-protocol.ts";
import { ChainKeeper, type KeeperParts } from "./keeper.ts";
import { type Old, pruneChain } from "./prune.ts";
import { findMaking, searchAudit } from "./search.ts";
import { verifyFile } from "./verify-file.ts";

export interface AuditParts extends KeeperParts {
  /** Of the database file. */
  path: string;
}

export class StoredAudit implements Audit {
  readonly #parts: AuditParts;
  readonly #db: Kysely<Schema>;
  readonly #keeper: ChainKeeper;
  /** All that each chain has had, and what of it is gone. */
  readonly #sizes = new Map<string, { bytes: number; floorBytes: number }>();
  #verifying: Promise<unknown> = Promise.resolve();
  /** By the only namespace that it is about. */
  readonly #nextVerdicts = new Map<string | undefined, Promise<AuditVerdict>>();

  private constructor(parts: AuditParts, keeper: ChainKeeper, chains: readonly OpenedChain[]) {
    this.#parts = parts;
    this.#db = parts.db;
    this.#keeper = keeper;
    for (const { head, floorBytes } of chains) this.#sizes.set(head.namespace, { bytes: head.bytes, floorBytes });
    parts.client.onHead = (head) => this.#appended(head);
  }

  static async open(parts: AuditParts): Promise<StoredAudit> {
    const { keeper, chains } = await ChainKeeper.open(parts);
    return new StoredAudit(parts, keeper, chains);
  }

  #appended(head: ChainHead): void {
    this.#keeper.appended(head);
    const { floorBytes = 0 } = this.#sizes.get(head.namespace) ?? {};
    this.#sizes.set(head.namespace, { bytes: head.bytes, floorBytes });
  }

  async record(entry: AuditEntry): Promise<AuditPosition> {
    const [place] = await this.#parts.client.batch([{ op: "append", entry }], this.#parts.clock.wallMs());
    return place as AuditPosition;
  }

  search(query: AuditQuery): Promise<AuditRow[]> {
    return searchAudit(this.#db, query);
  }

  async content(position: number, namespace?: string): Promise<AuditContent | undefined> {
    const row = await this.#db
      .selectFrom("audit_contents")
      .select(["kind", "arguments", "result", "truncated"])
      .where("position", "=", position)
      .$if(namespace !== undefined, (query) => query.where("namespace", "=", namespace ?? ""))
      .executeTakeFirst();
    return row && { ...row, truncated: row.truncated !== 0 };
  }

  async eraseContent(beforeMs: number): Promise<number> {
    const erased = await this.#db.deleteFrom("audit_contents").where("at_ms", "<", beforeMs).executeTakeFirst();
    return Number(erased.numDeletedRows);
  }

  making(sandboxId: string): Promise<AuditRow | undefined> {
    return findMaking(this.#db, sandboxId);
  }

  /** One at a time; all that ask for the same while one is under way share the next. */
  verify(namespace?: string): Promise<AuditVerdict> {
    const known = this.#nextVerdicts.get(namespace);
    if (known !== undefined) return known;
    const { path, signer, client } = this.#parts;
    const key = { publicKey: signer.publicKey, rowKey: signer.rowKey };
    const verdict = this.#verifying.then(async () => {
      this.#nextVerdicts.delete(namespace);
      await client.sync(); // behind whatever was recorded before
      return verifyFile({ path, keys: [key], headNeeded: true, ...defined({ namespace }) });
    });
    this.#verifying = verdict.catch(() => undefined);
    this.#nextVerdicts.set(namespace, verdict);
    return verdict;
  }

  async prune(beforeMs: (namespace: string) => number): Promise<number> {
    await this.#settle();
    let rows = 0;
    for (const namespace of this.#keeper.namespaces)
      rows += await this.#pruneChain(namespace, { beforeMs: beforeMs(namespace) }, "age");
    return rows;
  }

  bytes(namespace: string): number {
    const { bytes, floorBytes } = this.#sizes.get(namespace) ?? { bytes: 0, floorBytes: 0 };
    return bytes - floorBytes;
  }

  async shrink(namespace: string, to: { bytes: number; beforeMs: number }): Promise<number> {
    await this.#settle();
    const throughBytes = (this.#sizes.get(namespace)?.bytes ?? 0) - to.bytes;
    return this.#pruneChain(namespace, { beforeMs: to.beforeMs, throughBytes }, "size");
  }

  /** The head outside must not fall behind an anchor. */
  async #settle(): Promise<void> {
    await this.#parts.client.sync();
    await this.#keeper.settle(false);
  }

  async #pruneChain(namespace: string, old: Old, reason: "age" | "size"): Promise<number> {
    const { rows, through, floorBytes } = await this.#keeper.alone(() => pruneChain(this.#parts, namespace, old));
    if (rows === 0) return 0;
    const size = this.#sizes.get(namespace);
    if (size !== undefined) size.floorBytes = floorBytes;
    const detail = { through, rows, before_ms: old.beforeMs, reason };
    await this.record({ ...byDaemon, type: "audit.pruned", namespace, detail });
    return rows;
  }

  /** Signs the ends, so that all of it is held. */
  async close(): Promise<void> {
    try {
      await this.#parts.client.sync();
    } finally {
      await this.#keeper.settle(true);
    }
  }
}

const byDaemon = { actor: "system", sandboxId: null, requestId: null };
