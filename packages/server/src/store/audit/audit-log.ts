import type { Kysely } from "kysely";
import type {
  Audit,
  AuditContent,
  AuditEntry,
  AuditPlace,
  AuditQuery,
  AuditRow,
  AuditVerdict,
} from "../../core/audit.ts";
import { defined } from "../../core/defined.ts";
import type { Schema } from "../schema.ts";
import { ChainKeeper, type KeeperParts } from "./keeper.ts";
import { pruneChain } from "./prune.ts";
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
  #verifying: Promise<unknown> = Promise.resolve();
  /** By the only namespace that it is about. */
  readonly #nextVerdicts = new Map<string | undefined, Promise<AuditVerdict>>();

  private constructor(parts: AuditParts, keeper: ChainKeeper) {
    this.#parts = parts;
    this.#db = parts.db;
    this.#keeper = keeper;
    parts.client.onHead = (head) => keeper.appended(head);
  }

  static async open(parts: AuditParts): Promise<StoredAudit> {
    const { keeper } = await ChainKeeper.open(parts);
    return new StoredAudit(parts, keeper);
  }

  async record(entry: AuditEntry): Promise<AuditPlace> {
    const [place] = await this.#parts.client.batch([{ op: "append", entry }], this.#parts.clock.wallMs());
    return place as AuditPlace;
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
    // The head outside must not fall behind an anchor.
    await this.#parts.client.sync();
    await this.#keeper.settle(false);
    let all = 0;
    for (const namespace of this.#keeper.namespaces) {
      const old = { beforeMs: beforeMs(namespace) };
      const { rows, through } = await this.#keeper.alone(() => pruneChain(this.#parts, namespace, old));
      if (rows === 0) continue;
      all += rows;
      const detail = { through, rows, before_ms: old.beforeMs };
      await this.record({ ...byDaemon, type: "audit.pruned", namespace, detail });
    }
    return all;
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
