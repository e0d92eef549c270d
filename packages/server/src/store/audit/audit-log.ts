import type { Kysely } from "kysely";
import type { Audit, AuditEntry, AuditQuery, AuditRow, AuditVerdict } from "../../core/audit.ts";
import { AppError } from "../../core/errors.ts";
import type { Schema } from "../schema.ts";
import type { SqliteClient } from "../sqlite-client.ts";
import { searchAudit } from "./search.ts";

export class StoredAudit implements Audit {
  readonly #client: SqliteClient;
  readonly #db: Kysely<Schema>;
  readonly #now: () => number;

  constructor(client: SqliteClient, db: Kysely<Schema>, now: () => number) {
    this.#client = client;
    this.#db = db;
    this.#now = now;
  }

  async record(entry: AuditEntry): Promise<void> {
    await this.#client.append(entry, this.#now());
  }

  search(query: AuditQuery): Promise<AuditRow[]> {
    return searchAudit(this.#db, query);
  }

  async verify(): Promise<AuditVerdict> {
    throw new AppError("unsupported", "the chain cannot be verified yet");
  }
}
