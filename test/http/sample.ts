import type { Document } from "./document.ts";

type Schema = Record<string, unknown>;

/** The least that a schema takes: required fields, each with the first thing that fits. */
export function sample(document: Document, schema: Schema): unknown {
  if (typeof schema.$ref === "string")
    return sample(document, document.components.schemas[schema.$ref.split("/").at(-1) ?? ""] as Schema);
  const options = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
  if (options?.[0] !== undefined && schema.type !== "object") return sample(document, options[0]);
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (schema.type === "object") {
    const { properties = {}, required = [] } = schema as { properties?: Record<string, Schema>; required?: string[] };
    const { required: chosen = [] } = (options?.[0] ?? {}) as { required?: string[] };
    return Object.fromEntries([...required, ...chosen].map((name) => [name, sample(document, properties[name] ?? {})]));
  }
  if (schema.type === "array") return schema.minItems ? [sample(document, schema.items as Schema)] : [];
  if (schema.type === "number" || schema.type === "integer") return schema.minimum ?? 0;
  if (schema.type === "boolean") return false;
  return schema.pattern === undefined ? "x" : "SIGTERM";
}
