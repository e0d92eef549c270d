import { z } from "zod";
import { schemaNames } from "../core/validation.ts";
import { defineTool } from "./tool.ts";
import { validationOf } from "./validation-of.ts";

export const validateJsonData = defineTool({
  name: "validate_json_data",
  title: "Check JSON",
  sets: ["data"],
  scope: "use",
  description: [
    "Checks data against a JSON Schema 2020-12: your own, or a registered one by name (config, user, dataset; see sandbox://schemas).",
    "Returns all errors, each with a JSON Pointer to the value and the violated keyword.",
    "References to other documents are never fetched: put their content into $defs.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    data: z.unknown().describe("the data: any JSON value"),
    schema_name_or_dict: z
      .union([z.string(), z.record(z.string(), z.unknown()), z.boolean()])
      .describe(`${schemaNames.join(", ")}, or a schema`),
  }),
  data: ["data", "schema_name_or_dict"],
  output: z
    .object({
      valid: z.boolean(),
      schema: z.enum(schemaNames).nullable(),
      errors: z.array(
        z.object({ path: z.string(), keyword: z.string(), schema_path: z.string(), message: z.string() }),
      ),
      error_count: z.number().int(),
      truncated: z.boolean(),
    })
    .meta({ id: "JsonValidation" }),
  run: async (call, { data, schema_name_or_dict }) => {
    const { errors, errorCount, ...rest } = await validationOf(call).json(data, schema_name_or_dict, call.signal);
    const told = errors.map(({ schemaPath, ...error }) => ({ ...error, schema_path: schemaPath }));
    return { structured: { ...rest, errors: told, error_count: errorCount } };
  },
});
