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
  permission: "use",
  description: [
    "Reads Python, Node.js or shell code without running it: syntax errors with line and column, missing imports, dangerous patterns",
    "(eval, exec, escapes through dunder attributes, unapproved imports, rm -rf /).",
    "`fixed_code` is the code with the imports of the standard library that it lacks: run that instead.",
    "`refused` says whether run_sandbox_code would refuse it; mend what the findings of severity error and danger name.",
    "Code that passes is not thereby safe: the sandbox is what holds it.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    code: z.string().describe("the program, whole"),
    language: z.enum(languages).default("python"),
    auto_fix: z.boolean().default(true).describe("whether missing imports are added in fixed_code"),
    policy: policy.default("advise").describe("strict judges imports by the list of run_sandbox_code"),
    session_id: sessionId,
  }),
  output: codeValidation,
  run: async (call, { code, language, auto_fix, policy, session_id }) => {
    const input = { code, language, policy, autoFix: auto_fix };
    const checkShell = language === "shell" ? await shellCheckerOf(call, session_id) : undefined;
    return { structured: toCodeValidation(await validationOf(call).code(input, call.signal, checkShell)) };
  },
});
