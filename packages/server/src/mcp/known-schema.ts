import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import type { z } from "zod";

const known = new WeakMap<z.ZodType, StandardSchemaWithJSON>();

/** As `knownSchema`, for what a tool takes: it is held against it where the tool is called, and refused in words of our own. */
export function knownInput(schema: z.ZodType): StandardSchemaWithJSON {
  const { "~standard": standard } = knownSchema(schema);
  return { "~standard": { ...standard, validate: (value) => ({ value }) } };
}

/** A schema whose JSON form is worked out once: a stateless server is built for each request, and lists every tool anew. */
export function knownSchema(schema: z.ZodType): StandardSchemaWithJSON {
  const found = known.get(schema);
  if (found !== undefined) return found;
  const standard = (schema as z.ZodType & StandardSchemaWithJSON)["~standard"];
  type Convert = typeof standard.jsonSchema.input;
  const once = (convert: Convert): Convert => {
    let json: ReturnType<Convert> | undefined;
    return (options) => {
      json ??= convert(options);
      return json;
    };
  };
  const jsonSchema = { input: once(standard.jsonSchema.input), output: once(standard.jsonSchema.output) };
  const made: StandardSchemaWithJSON = { "~standard": { ...standard, jsonSchema } };
  known.set(schema, made);
  return made;
}
