import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { AppError, messageOf } from "../core/errors.ts";
import type { JsonIssue, JsonSchema, JsonValidation, SchemaName } from "../core/validation.ts";
import { validationLimits } from "./limits.ts";
import { namedSchemas } from "./schemas.ts";

/** All errors of a JSON text by a schema of 2020-12. Nothing is ever fetched: a reference is found in the schema, or refused. */
export function validateJson(data: string, schema: { name: SchemaName } | { text: string }): JsonValidation {
  const isNamed = "name" in schema;
  const validate = compile(isNamed ? namedSchemas[schema.name] : JSON.parse(schema.text));
  validate(JSON.parse(data));
  const errors = validate.errors ?? [];
  return {
    valid: errors.length === 0,
    schema: isNamed ? schema.name : null,
    errors: errors.slice(0, validationLimits.errors).map(toIssue),
    errorCount: errors.length,
    truncated: errors.length > validationLimits.errors,
  };
}

function compile(schema: JsonSchema) {
  // A schema of a stranger's has an Ajv of its own: an $id of one is nothing to the next.
  const ajv = new Ajv2020({ allErrors: true, strict: false, logger: false, validateSchema: false });
  formats.default(ajv);
  try {
    if (!ajv.validateSchema(schema)) {
      const issues = (ajv.errors ?? []).slice(0, validationLimits.errors).map(toIssue);
      throw new AppError("invalid", `invalid schema: ${issues[0]?.path ?? ""} ${issues[0]?.message ?? ""}`, {
        hint: "schemas follow JSON Schema 2020-12",
        details: { errors: issues },
      });
    }
    return ajv.compile(schema);
  } catch (error) {
    if (error instanceof AppError || error instanceof RangeError) throw error;
    throw refusal(error);
  }
}

function refusal(error: unknown): AppError {
  if (error instanceof Error && "missingRef" in error)
    return new AppError("invalid", `the schema refers to ${cut(String(error.missingRef))}, which it does not contain`, {
      hint: "references are not fetched; define them in $defs",
      details: { ref: cut(String(error.missingRef)) },
    });
  const said = messageOf(error);
  if (/no schema with key or ref/.test(said))
    return new AppError("unsupported", "the schema's $schema is not JSON Schema 2020-12", {
      hint: "omit $schema, or set it to https://json-schema.org/draft/2020-12/schema",
    });
  return new AppError("invalid", `the schema cannot be used: ${cut(said)}`);
}

function toIssue({ instancePath, keyword, schemaPath, message, params }: ErrorObject): JsonIssue {
  const named: unknown =
    params.additionalProperty ?? params.unevaluatedProperty ?? params.allowedValues ?? params.allowedValue;
  const about = named === undefined ? "" : `: ${JSON.stringify(named)}`;
  return { path: instancePath, keyword, schemaPath, message: cut(`${message ?? keyword}${about}`) };
}

function cut(text: string): string {
  const { messageCharacters } = validationLimits;
  return text.length <= messageCharacters ? text : `${text.slice(0, messageCharacters)}…`;
}
