import { constants } from "node:fs";
import { access, copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { Kysely } from "kysely";
import type { AuditQuery, AuditRow, AuditVerdict } from "../../core/audit.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
import type { Schema } from "../schema.ts";
import { SqliteClient } from "../sqlite-client.ts";
import { SqliteDialect } from "../sqlite-dialect.ts";
import { searchAudit } from "./search.ts";
import { type VerifyFile, verifyFile } from "./verify-file.ts";

/** An audit log that is only read: of a daemon that runs or does not, or of a copy. */
export class AuditReader implements AsyncDisposable {
  readonly #path: string;
  readonly #temporary: string | undefined;
  readonly #client: SqliteClient;
  readonly #db: Kysely<Schema>;

  private constructor(path: string, temporary: string | undefined, client: SqliteClient) {
    this.#path = path;
    this.#temporary = temporary;
    this.#client = client;
    this.#db = new Kysely<Schema>({ dialect: new SqliteDialect(client) });
  }

  static async open(path: string): Promise<AuditReader> {
    try {
      await access(path, constants.R_OK);
    } catch (error) {
      if (errnoOf(error) === "ENOENT") throw new AppError("not_found", `no database at ${path}`);
      throw new AppError("forbidden", `cannot read ${path}`, { hint: "run this as the daemon's user or as root" });
    }
    const temporary = await copyIfReadOnly(path);
    const readable = temporary === undefined ? path : join(temporary, basename(path));
    try {
      return new AuditReader(readable, temporary, await SqliteClient.open({ path: readable, readOnly: true }));
    } catch (error) {
      if (temporary !== undefined) await rm(temporary, { recursive: true });
      throw error;
    }
  }

  search(query: AuditQuery): Promise<AuditRow[]> {
    return searchAudit(this.#db, query);
  }

  verify(how: Omit<VerifyFile, "path">): Promise<AuditVerdict> {
    return verifyFile({ ...how, path: this.#path });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
    if (this.#temporary !== undefined) await rm(this.#temporary, { recursive: true });
  }
}

/** SQLite reads a database with a log only where it can write an index beside it; elsewhere it gets a copy. */
async function copyIfReadOnly(path: string): Promise<string | undefined> {
  try {
    await access(dirname(path), constants.W_OK);
    return undefined;
  } catch {
    const folder = await mkdtemp(join(tmpdir(), "caisson-audit-"));
    const names = ["audit-head.json", basename(path), `${basename(path)}-wal`];
    for (const name of names) {
      await copyFile(join(dirname(path), name), join(folder, name)).catch(async (error) => {
        if (errnoOf(error) === "ENOENT" && name !== basename(path)) return;
        await rm(folder, { recursive: true });
        throw error;
      });
    }
    return folder;
  }
}
