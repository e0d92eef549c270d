import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { AuditContent } from "../../core/audit.ts";
import { auditLimits } from "../limits.ts";

const insertSql = `insert into audit_contents
  (position, namespace, at_ms, kind, arguments, result, truncated, through_bytes) values (?, ?, ?, ?, ?, ?, ?, ?)`;
const lastSql = "select through_bytes from audit_contents where namespace = ? order by through_bytes desc limit 1";
const dropSql = "delete from audit_contents where namespace = ? and through_bytes <= ?";

interface Statements {
  insert: StatementSync;
  last: StatementSync;
  drop: StatementSync;
}

/** Writes what is kept beside rows of the log. The oldest of a namespace makes room for the newest. */
export class Contents {
  readonly #db: DatabaseSync;
  #statements: Statements | undefined;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  put(row: { position: number; namespace: string; atMs: number }, content: AuditContent): void {
    const { insert, last, drop } = this.#prepared();
    const { position, namespace, atMs } = row;
    const { kind, arguments: given, result, truncated } = content;
    const before = (last.get(namespace) as { through_bytes: number } | undefined)?.through_bytes ?? 0;
    const through = before + Buffer.byteLength(given) + Buffer.byteLength(result) + auditLimits.contentRowBytes;
    insert.run(position, namespace, atMs, kind, given, result, Number(truncated), through);
    drop.run(namespace, through - auditLimits.contentBytes);
  }

  #prepared(): Statements {
    this.#statements ??= {
      insert: this.#db.prepare(insertSql),
      last: this.#db.prepare(lastSql),
      drop: this.#db.prepare(dropSql),
    };
    return this.#statements;
  }
}
