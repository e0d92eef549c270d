import type { Kysely } from "kysely";
import type { Audit, AuditEntry, AuditPlace, AuditQuery, AuditRow, AuditVerdict } from "../../core/audit.ts";
import type { Schema } from "../schema.ts";
import { ChainKeeper, type KeeperParts } from "./keeper.ts";
import { pruneAudit } from "./prune.ts";
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
  #nextVerdict: Promise<AuditVerdict> | undefined;

  private constructor(parts: AuditParts, keeper: ChainKeeper) {
    this.#parts = parts;
    this.#db = parts.db;
    this.#keeper = keeper;
  }

  static async open(parts: AuditParts): Promise<StoredAudit> {
    return new StoredAudit(parts, await ChainKeeper.open(parts));
  }

  async record(entry: AuditEntry): Promise<AuditPlace | undefined> {
    const [place] = await this.#parts.client.batch([{ op: "append", entry }], this.#parts.clock.wallMs());
    return place;
  }

  search(query: AuditQuery): Promise<AuditRow[]> {
    return searchAudit(this.#db, query);
  }

  making(sandboxId: string): Promise<AuditRow | undefined> {
    return findMaking(this.#db, sandboxId);
  }

  /** One at a time; all that ask while one is under way share the next. */
  verify(): Promise<AuditVerdict> {
    const { path, signer } = this.#parts;
    this.#nextVerdict ??= this.#verifying.then(() => {
      this.#nextVerdict = undefined;
      // Behind whatever was recorded before.
      const verdict = this.#parts.client
        .sync()
        .then(() => verifyFile({ path, keys: [signer.publicKey], headNeeded: true }));
      this.#verifying = verdict.catch(() => undefined);
      return verdict;
    });
    return this.#nextVerdict;
  }

  async prune(beforeMs: number): Promise<number> {
    // The head outside must not fall behind the anchor.
    await this.#parts.client.sync();
    await this.#keeper.settle(false);
    const { rows, through } = await this.#keeper.alone(() => pruneAudit(this.#parts, beforeMs));
    if (rows === 0) return 0;
    await this.record({
      type: "audit.pruned",
      namespace: "system",
      actor: "system",
      sandboxId: null,
      requestId: null,
      detail: { through, rows, before_ms: beforeMs },
    });
    return rows;
  }

  /** Signs the end, so that all of it is held. */
  async close(): Promise<void> {
    try {
      await this.#parts.client.sync();
    } finally {
      await this.#keeper.settle(true);
    }
  }
}
