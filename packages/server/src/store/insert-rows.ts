import type { CompiledQuery, Kysely } from "kysely";
import type { Schema } from "./schema.ts";

type Row = Readonly<Record<string, unknown>>;

/** Runs a statement; Kysely's own way takes a dozen promises to do it. */
export type Execute = (statement: CompiledQuery) => Promise<unknown>;

/** Inserts rows of one table. The statement of rows that have the same columns in the same order is written once: to write it is most of the work. */
export class InsertRows<T extends keyof Schema> {
  readonly #db: Kysely<Schema>;
  readonly #table: T;
  readonly #execute: Execute;
  #columns: string[] = [];
  #statement: CompiledQuery | undefined;

  constructor(db: Kysely<Schema>, table: T, execute: Execute = (statement) => db.executeQuery(statement)) {
    this.#db = db;
    this.#table = table;
    this.#execute = execute;
  }

  async insert(row: Row): Promise<void> {
    const statement = this.#statementFor(row);
    await this.#execute({ ...statement, parameters: Object.values(row) });
  }

  #statementFor(row: Row): CompiledQuery {
    const columns = Object.keys(row);
    const isSame =
      columns.length === this.#columns.length && columns.every((column, index) => column === this.#columns[index]);
    if (this.#statement !== undefined && isSame) return this.#statement;
    this.#columns = columns;
    this.#statement = this.#db
      .insertInto(this.#table)
      .values(row as never)
      .compile();
    return this.#statement;
  }
}
