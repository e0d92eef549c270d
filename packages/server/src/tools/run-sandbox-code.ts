import { z } from "zod";
import { runFields, runResult } from "../schemas/run.ts";
import { finding } from "../schemas/validation.ts";
import { executeCode } from "./execute-code.ts";
import { sessionId, where } from "./session.ts";
import { defineTool } from "./tool.ts";

const { stdout, stderr } = runResult.shape;

const output = z.object({
  ...{ stdout, stderr },
  ...runResult.shape,
  success: z.boolean().describe("true if the exit code is 0"),
  execution_time_sec: z.number(),
  findings: z.array(finding).optional().describe("findings of validate_code, if the code failed"),
  ...where,
});

export const runSandboxCode = defineTool({
  name: "run_sandbox_code",
  title: "Run checked code",
  sets: ["data"],
  scope: "use",
  description: [
    "Checks Python code with policy strict, then runs it in your sandbox's workspace. Returns stdout, stderr and the duration.",
    "Refused before it runs: syntax errors, eval, exec, escapes through dunder attributes, and imports that are not on the list",
    "(os, sys, subprocess, socket and others); `details.findings` lists them with their positions. Write the code without them,",
    "or run code that needs them with execute_code, where only the sandbox contains it.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({
    code: z.string().min(1).describe("the complete Python program"),
    timeout_sec: runFields.timeout_seconds.describe("wall-clock limit; 0 disables it; default: 60"),
    session_id: sessionId,
  }),
  output,
  run: async (call, { code, timeout_sec, session_id }) => {
    const asked = { code, session_id, timeout_seconds: timeout_sec };
    const input = executeCode.input.parse({ ...asked, language: "python", stateful: false, policy: "strict" });
    const { structured, content = [] } = await executeCode.run(call, input);
    const { exit_code, duration_ms } = structured as z.input<typeof output>;
    const added = { success: exit_code === 0, execution_time_sec: duration_ms / 1000 };
    return { structured: { ...(structured as z.input<typeof output>), ...added }, content };
  },
});
