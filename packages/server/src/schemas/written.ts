import { z } from "zod";

/** A number in a path, a query or a header, in the digits that JSON has for it. */
export function written<T extends z.ZodType>(number: T) {
  return z.preprocess((text) => {
    return typeof text === "string" && /^-?\d{1,40}(\.\d{1,40})?(e[+-]?\d{1,3})?$/i.test(text) ? Number(text) : text;
  }, number);
}

/** `true` or `false` in a query. */
export const writtenFlag = z
  .stringbool({ truthy: ["true"], falsy: ["false"], case: "sensitive" })
  .meta({ type: "boolean" });

/** Names separated by commas, each one of these. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.preprocess((text) => (typeof text === "string" ? text.split(",") : text), z.array(item).min(1));
}
