import { AppError } from "./errors.ts";
import type { Range } from "./limits.ts";

/** Takes a value from outside apart: what it gives back is made of nothing but what was checked. */
export type Check<T> = (value: unknown, name: string) => T;

function wrong(name: string, what: string): AppError {
  return new AppError("invalid", `${name} is not ${what}`);
}

/** An object with these fields and no others. */
export function shape<T extends object>(fields: { [K in keyof T]-?: Check<T[K] | undefined> }): Check<T> {
  const names = Object.keys(fields) as (keyof T & string)[];
  return (value, name) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(name, "an object");
    const found: Partial<T> = {};
    let used = 0;
    for (const field of names) {
      const given = Object.hasOwn(value, field);
      if (given) used++;
      const checked = fields[field](given ? (value as T)[field] : undefined, field);
      if (checked !== undefined) found[field] = checked;
    }
    if (Object.keys(value).length !== used) throw new AppError("invalid", `${name} has an unknown field`);
    return found as T;
  };
}

export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, name) => (value === undefined ? undefined : check(value, name));
}

export function oneOf<T extends string>(words: readonly T[]): Check<T> {
  return (value, name) => {
    const word = words.find((known) => known === value);
    if (word === undefined) throw wrong(name, `one of ${words.join(", ")}`);
    return word;
  };
}

export const flag: Check<boolean> = (value, name) => {
  if (typeof value !== "boolean") throw wrong(name, "true or false");
  return value;
};

export function within(range: Range, whole = true): Check<number> {
  return (value, name) => {
    if (typeof value !== "number" || !(whole ? Number.isSafeInteger(value) : Number.isFinite(value)))
      throw wrong(name, "a number");
    if (value < range.min || value > range.max) throw wrong(name, `between ${range.min} and ${range.max}`);
    return value;
  };
}

export function matching(pattern: RegExp): Check<string> {
  return (value, name) => {
    if (typeof value !== "string" || !pattern.test(value)) throw wrong(name, "a known id");
    return value;
  };
}
