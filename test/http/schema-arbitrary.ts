import fc from "fast-check";
import type { Document } from "./document.ts";

type Schema = Record<string, unknown>;

const oddStrings = [
  "",
  " ",
  ".",
  "..",
  "/",
  "../../etc/passwd",
  "a/b",
  "\0",
  "\r\nX: y",
  "ä🎉",
  "\ud800",
  "%00",
  "-1",
  "true",
];
const anyString = fc.oneof(fc.constantFrom(...oddStrings), fc.string({ maxLength: 40 }), fc.constant("x".repeat(600)));
const anyNumber = fc.constantFrom(0, 1, -1, 0.5, 2, 64, 1024, 65_536, 1e9, 1e12, 1e300, -0);

/** Values that a schema may take, and now and then one that it must refuse. */
export function arbitraryOf(api: Document, schema: Schema, depth = 0): fc.Arbitrary<unknown> {
  const good = goodValue(api, schema, depth);
  return fc.oneof({ weight: 12, arbitrary: good }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) });
}

function goodValue(api: Document, schema: Schema, depth: number): fc.Arbitrary<unknown> {
  if (typeof schema.$ref === "string") {
    const named = api.components.schemas[schema.$ref.split("/").at(-1) ?? ""] as Schema;
    return goodValue(api, named, depth);
  }
  const options = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
  if (options !== undefined) return fc.oneof(...options.map((option) => arbitraryOf(api, option, depth + 1)));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  if (depth > 6) return fc.constant(null);
  if (schema.type === "object") return objectOf(api, schema, depth);
  if (schema.type === "array")
    return fc.array(arbitraryOf(api, (schema.items ?? {}) as Schema, depth + 1), { maxLength: 3 });
  if (schema.type === "boolean") return fc.boolean();
  if (schema.type === "number" || schema.type === "integer") return numberOf(schema);
  return schema.type === "string" ? anyString : fc.jsonValue({ maxDepth: 2 });
}

function numberOf(schema: Schema): fc.Arbitrary<unknown> {
  const bounds = [schema.minimum, schema.maximum].filter((bound) => typeof bound === "number");
  return fc.oneof(anyNumber, fc.constantFrom(...bounds, 1), fc.integer({ min: 0, max: 1_000 }));
}

function objectOf(api: Document, schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const {
    properties = {},
    required = [],
    additionalProperties,
  } = schema as {
    properties?: Record<string, Schema>;
    required?: string[];
    additionalProperties?: Schema | boolean;
  };
  if (Object.keys(properties).length === 0 && typeof additionalProperties === "object")
    return fc.dictionary(anyString, arbitraryOf(api, additionalProperties, depth + 1), { maxKeys: 3 });
  const fields = Object.entries(properties).map(([name, one]) => [name, arbitraryOf(api, one, depth + 1)]);
  return fc.record<Record<string, unknown>>(Object.fromEntries(fields), { requiredKeys: required });
}
