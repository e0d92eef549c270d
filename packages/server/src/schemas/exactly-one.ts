import type { z } from "zod";

/** An object that has one of these fields, and no second one of them. */
export function exactlyOne<T extends z.ZodObject>(object: T, fields: readonly (keyof T["shape"] & string)[]): T {
  return object
    .refine((given) => fields.filter((field) => given[field] !== undefined).length === 1, `one of ${fields.join(", ")}`)
    .meta({ oneOf: fields.map((field) => ({ required: [field] })) });
}
