import type { JsonSchema, SchemaName } from "../core/validation.ts";

const draft = "https://json-schema.org/draft/2020-12/schema";
const name = { type: "string", minLength: 1, maxLength: 200 };

/** The schemas that are there by name. Data. */
export const namedSchemas: Record<SchemaName, JsonSchema> = {
  config: {
    $schema: draft,
    title: "A program's configuration",
    type: "object",
    required: ["name", "version"],
    properties: {
      name,
      version: { type: "string", pattern: "^\\d+\\.\\d+\\.\\d+(?:[-+][0-9A-Za-z.-]+)?$" },
      description: { type: "string" },
      environment: { enum: ["development", "test", "staging", "production"] },
      debug: { type: "boolean" },
      log_level: { enum: ["debug", "info", "warning", "error", "critical"] },
      timeout_sec: { type: "number", exclusiveMinimum: 0 },
      max_retries: { type: "integer", minimum: 0 },
      features: { type: "object", additionalProperties: { type: "boolean" } },
      settings: { type: "object" },
    },
  },
  user: {
    $schema: draft,
    title: "A person with an account",
    type: "object",
    required: ["id", "username", "email"],
    properties: {
      id: { anyOf: [{ type: "integer", minimum: 1 }, name] },
      username: { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{1,63}$" },
      email: { type: "string", format: "email", maxLength: 254 },
      full_name: { type: "string", maxLength: 200 },
      age: { type: "integer", minimum: 0, maximum: 150 },
      roles: { type: "array", items: name, uniqueItems: true, maxItems: 100 },
      is_active: { type: "boolean" },
      created_at: { type: "string", format: "date-time" },
    },
  },
  dataset: {
    $schema: draft,
    title: "A table and what its columns hold",
    type: "object",
    required: ["name", "columns", "rows"],
    properties: {
      name,
      description: { type: "string" },
      columns: {
        type: "array",
        minItems: 1,
        items: {
          type: "object",
          required: ["name", "type"],
          properties: {
            name,
            type: { enum: ["string", "integer", "number", "boolean", "date", "datetime"] },
            nullable: { type: "boolean" },
          },
        },
      },
      rows: { type: "array", items: { anyOf: [{ type: "object" }, { type: "array" }] } },
      row_count: { type: "integer", minimum: 0 },
      metadata: { type: "object" },
    },
  },
};
