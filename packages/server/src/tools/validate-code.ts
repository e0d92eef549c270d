import { z } from "zod";
import { languages } from "../core/language.ts";
import { codeValidation, policy, toCodeValidation } from "../schemas/validation.ts";
import { shellCheckerOf } from "./check-shell.ts";
import { sessionId } from "./session.ts";
import { defineTool } from "./tool.ts";
import { validationOf } from "./validation-of.ts";

export const validateCode = defineTool({
  name: "validate_code",
  title: "Check code",
  sets: ["data"],
  scope: "use",
  description: [
    "Checks Python, Node.js or shell code without running it: syntax errors with line and column, missing imports, dangerous patterns",
    "(eval, exec, escapes through dunder attributes, unapproved imports, rm -rf /).",
    "`fixed_code` is the code with missing imports of the standard library added: run that instead.",
    "`refused` is true if run_sandbox_code would refuse it: fix the findings of severity error and danger.",
    "A passed check does not make code safe: the sandbox contains it.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    code: z.string().describe("the complete program"),
    language: z.enum(languages).default("python"),
    auto_fix: z.boolean().default(true).describe("add missing imports in fixed_code"),
    policy: policy.default("advise").describe("strict checks imports against the list of run_sandbox_code"),
    session_id: sessionId,
  }),
  output: codeValidation,
  run: async (call, { code, language, auto_fix, policy, session_id }) => {
    const input = { code, language, policy, autoFix: auto_fix };
    const checkShell = language === "shell" ? await shellCheckerOf(call, session_id) : undefined;
    return { structured: toCodeValidation(await validationOf(call).code(input, call.signal, checkShell)) };
  },
});
