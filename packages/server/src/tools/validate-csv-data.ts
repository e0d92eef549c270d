import { z } from "zod";
import { csvRules, csvTypes } from "../core/validation.ts";
import { validationLimits } from "../validation/limits.ts";
import { defineTool } from "./tool.ts";
import { validationOf } from "./validation-of.ts";

const { columns } = validationLimits;

export const validateCsvData = defineTool({
  name: "validate_csv_data",
  title: "Check CSV",
  sets: ["data"],
  scope: "use",
  description: [
    "Checks CSV text (RFC 4180, header first): required headers, column types, rows of the wrong length, broken quotes.",
    `Types are ${csvTypes.join(", ")}; a ? after one (int?) allows empty fields.`,
    "Each error has its row (the header is row 1), line, column and value.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    csv_content: z.string(),
    required_headers: z.array(z.string()).max(columns).default([]),
    type_constraints: z.record(z.string(), z.string()).default({}).describe('column types by header: {"age": "int"}'),
  }),
  output: z
    .object({
      valid: z.boolean(),
      headers: z.array(z.string()),
      rows: z.number().int().describe("number of rows, without the header"),
      errors: z.array(
        z.object({
          rule: z.enum(csvRules),
          message: z.string(),
          row: z.number().int(),
          line: z.number().int(),
          column: z.string().nullable(),
          column_number: z.number().int().nullable(),
          value: z.string().optional(),
        }),
      ),
      error_count: z.number().int(),
      truncated: z.boolean(),
    })
    .meta({ id: "CsvValidation" }),
  run: async (call, { csv_content, required_headers, type_constraints }) => {
    const input = { csv: csv_content, requiredHeaders: required_headers, typeConstraints: type_constraints };
    const { errors, errorCount, ...rest } = await validationOf(call).csv(input, call.signal);
    const told = errors.map(({ columnNumber, ...error }) => ({ ...error, column_number: columnNumber }));
    return { structured: { ...rest, errors: told, error_count: errorCount } };
  },
});
