/** How a record's fields become a row's columns and back: `createdAtMs` is `created_at_ms`; some are JSON. */
type Snake<S extends string> = S extends `${infer Head}${infer Tail}`
  ? `${Head extends Uppercase<Head> ? (Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`) : Head}${Snake<Tail>}`
  : S;

/** The row of a record whose fields J are JSON. */
export type Row<R, J extends keyof R = never> = {
  [K in keyof R & string as Snake<K>]: K extends J ? string : R[K];
};

const toColumn = remembered((field) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
const toField = remembered((column) => column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()));

/** The names of fields and columns are few. */
function remembered(translate: (name: string) => string): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const translated = translate(name);
    known.set(name, translated);
    return translated;
  };
}

export interface RowMapping<R, J extends keyof R> {
  toRow(record: R): Row<R, J>;
  /** Of the fields that are there; one that is undefined stays as it was. */
  toChanges(changes: Partial<R>): Partial<Row<R, J>>;
  toRecord(row: Row<R, J>): R;
}

export function mapRows<R extends object, J extends keyof R & string = never>(
  json: readonly J[] = [],
): RowMapping<R, J> {
  const isJson = new Set<string>(json);
  const toChanges = (record: Partial<R>) => {
    const row: Record<string, unknown> = {};
    for (const [field, value] of Object.entries(record))
      if (value !== undefined) row[toColumn(field)] = isJson.has(field) ? JSON.stringify(value) : value;
    return row;
  };
  const toRecord = (row: object) =>
    Object.fromEntries(
      Object.entries(row).map(([column, value]) => {
        const field = toField(column);
        return [field, isJson.has(field) ? JSON.parse(String(value)) : value];
      }),
    );
  return {
    toRow: (record) => toChanges(record) as Row<R, J>,
    toChanges: (changes) => toChanges(changes) as Partial<Row<R, J>>,
    toRecord: (row) => toRecord(row) as R,
  };
}
