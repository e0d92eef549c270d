/** An object without the fields that are undefined, as the types inside want it. */
type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

export function defined<T extends object>(value: T): Defined<T> {
  const kept: Record<string, unknown> = {};
  for (const name of Object.keys(value) as (keyof T & string)[])
    if (value[name] !== undefined) kept[name] = value[name];
  return kept as Defined<T>;
}
