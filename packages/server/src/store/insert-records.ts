import type { CompiledQuery, Kysely, QueryResult } from "kysely";
import type { RowMapping } from "./columns.ts";
import type { Schema } from "./schema.ts";

/**
 * Asks for a statement at once; by Kysely's own way it is asked for a dozen promises later. `isNew`: it adds a row under an
 * id that nobody else was given.
 */
export type Execute = (
  statement: CompiledQuery,
  isNew?: boolean,
) => Promise<Pick<QueryResult<unknown>, "numAffectedRows">>;

/** Inserts the records of one table, all with the same fields, each under an id of its own. Their statement is written once: to write it is most of the work. */
export class InsertRecords<R extends object, J extends keyof R> {
  readonly #db: Kysely<Schema>;
  readonly #table: keyof Schema;
  readonly #mapping: RowMapping<R, J>;
  readonly #execute: Execute;
  #fields: (keyof R & string)[] = [];
  #statement: CompiledQuery | undefined;

  constructor(db: Kysely<Schema>, table: keyof Schema, mapping: RowMapping<R, J>, execute: Execute) {
    this.#db = db;
    this.#table = table;
    this.#mapping = mapping;
    this.#execute = execute;
  }

  async insert(record: R): Promise<void> {
    this.#statement ??= this.#write(record);
    await this.#execute({ ...this.#statement, parameters: this.#mapping.toValues(record, this.#fields) }, true);
  }

  #write(record: R): CompiledQuery {
    this.#fields = Object.keys(record) as (keyof R & string)[];
    return this.#db
      .insertInto(this.#table)
      .values(this.#mapping.toRow(record) as never)
      .compile();
  }
}
