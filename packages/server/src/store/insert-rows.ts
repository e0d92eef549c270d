import type { CompiledQuery, Kysely } from "kysely";
import type { Schema } from "./schema.ts";

type Row = Readonly<Record<string, unknown>>;

/** Inserts rows of one table. The statement of rows that have the same columns is written once: to write it is most of the work. */
export class InsertRows<T extends keyof Schema> {
  readonly #db: Kysely<Schema>;
  readonly #table: T;
  #columns: string[] = [];
  #statement: CompiledQuery | undefined;

  constructor(db: Kysely<Schema>, table: T) {
    this.#db = db;
    this.#table = table;
  }

  async insert(row: Row): Promise<void> {
    const statement = this.#statementFor(row);
    await this.#db.executeQuery({ ...statement, parameters: this.#columns.map((column) => row[column]) });
  }

  #statementFor(row: Row): CompiledQuery {
    const columns = Object.keys(row);
    const isSame =
      columns.length === this.#columns.length && this.#columns.every((column) => Object.hasOwn(row, column));
    if (this.#statement !== undefined && isSame) return this.#statement;
    this.#columns = columns;
    this.#statement = this.#db
      .insertInto(this.#table)
      .values(row as never)
      .compile();
    return this.#statement;
  }
}
