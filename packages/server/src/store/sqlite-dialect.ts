import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { SqliteClient } from "./sqlite-client.ts";
import type { SqlValue } from "./sqlite-protocol.ts";

/** SQLite knows no boolean. */
export function toSqlValue(value: unknown): SqlValue {
  if (value === undefined) return null;
  if (typeof value === "boolean") return value ? 1 : 0;
  return value as SqlValue;
}

class Connection implements DatabaseConnection {
  readonly #client: SqliteClient;
  transaction: number | undefined;

  constructor(client: SqliteClient) {
    this.#client = client;
  }

  async executeQuery<R>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<R>> {
    const op = query.kind === "SelectQueryNode" ? "read" : "write";
    const { rows, changes } = await this.#client.query(op, sql, parameters.map(toSqlValue), this.transaction);
    return { rows: rows as R[], ...(op === "write" ? { numAffectedRows: BigInt(changes) } : {}) };
  }

  // biome-ignore lint/correctness/useYield: rows are asked for page by page instead
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error("the store does not stream");
  }
}

/** Each query is one request to the worker, which puts them in order: any number of connections share it. */
class WorkerDriver implements Driver {
  readonly #client: SqliteClient;

  constructor(client: SqliteClient) {
    this.#client = client;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<Connection> {
    return new Connection(this.#client);
  }

  async beginTransaction(connection: Connection): Promise<void> {
    connection.transaction = await this.#client.begin();
  }

  async commitTransaction(connection: Connection): Promise<void> {
    await this.#client.end("commit", connection.transaction ?? 0);
  }

  async rollbackTransaction(connection: Connection): Promise<void> {
    await this.#client.end("rollback", connection.transaction ?? 0);
  }

  async releaseConnection(connection: Connection): Promise<void> {
    connection.transaction = undefined;
  }

  /** The worker is closed by whoever opened it. */
  async destroy(): Promise<void> {}
}

/** The worker keeps transactions apart; Kysely need not let one query wait for another. */
class Adapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** What is SQLite's own about the store; repositories know Kysely only. */
export class SqliteDialect implements Dialect {
  readonly #client: SqliteClient;

  constructor(client: SqliteClient) {
    this.#client = client;
  }

  createDriver = () => new WorkerDriver(this.#client);
  createQueryCompiler = () => new SqliteQueryCompiler();
  createAdapter = () => new Adapter();
  createIntrospector: Dialect["createIntrospector"] = (db) => new SqliteIntrospector(db);
}
