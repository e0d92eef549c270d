import { z } from "zod";
import { nearMiss } from "../lib/near-miss.ts";

/** Hint for the first issue of a refused value, where it is a field that its object does not have and nearly names another one. */
export function hintOf(schema: z.ZodType, { issues: [first] }: z.ZodError): string | undefined {
  if (first?.code !== "unrecognized_keys") return undefined;
  const meant = meantBy(schema, first.path, first.keys);
  return meant === undefined ? undefined : `did you mean ${meant}?`;
}

/** The field that somebody probably meant by the first of `keys`, which the object at `path` does not have. */
function meantBy(schema: z.ZodType, path: readonly PropertyKey[], keys: readonly string[]): string | undefined {
  let at: unknown = schema;
  for (const part of [...path, undefined]) {
    while (at instanceof z.ZodOptional || at instanceof z.ZodDefault || at instanceof z.ZodNullable) at = at.unwrap();
    if (!(at instanceof z.ZodObject)) return undefined;
    if (part === undefined) break;
    at = at.shape[String(part)];
  }
  return nearMiss(keys[0] ?? "", Object.keys((at as z.ZodObject).shape));
}
