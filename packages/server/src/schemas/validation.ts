import { z } from "zod";
import { languages } from "../core/language.ts";
import { type CodeValidation, codeCheckers, type Finding, severities, validationPolicies } from "../core/validation.ts";

export const policy = z.enum(validationPolicies);

export const finding = z
  .object({
    rule: z.string(),
    severity: z.enum(severities),
    message: z.string(),
    line: z.number().int(),
    column: z.number().int(),
    end_line: z.number().int().optional(),
    end_column: z.number().int().optional(),
    fix: z.string().optional().describe("line that auto-fix adds"),
  })
  .meta({ id: "Finding" });

export const codeValidation = z
  .object({
    language: z.enum(languages),
    policy,
    valid: z.boolean().describe("true if the code can run"),
    refused: z.boolean().describe("true if the policy strict refuses the code"),
    findings: z.array(finding),
    truncated: z.boolean(),
    fixed_code: z.string().optional(),
    checked_by: z.array(z.enum(codeCheckers)),
  })
  .meta({ id: "CodeValidation" });

export function toFinding({ endLine, endColumn, ...rest }: Finding): z.input<typeof finding> {
  if (endLine === undefined || endColumn === undefined) return rest;
  return { ...rest, end_line: endLine, end_column: endColumn };
}

export function toCodeValidation(validation: CodeValidation): z.input<typeof codeValidation> {
  const { fixedCode, checkedBy, findings, ...rest } = validation;
  const fixed = fixedCode === undefined ? {} : { fixed_code: fixedCode };
  return { ...rest, findings: findings.map(toFinding), ...fixed, checked_by: checkedBy };
}
