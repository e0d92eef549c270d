import { z } from "zod";
import { runResult } from "../schemas/run.ts";
import { finding } from "../schemas/validation.ts";
import { executeCode } from "./execute-code.ts";
import { sessionId, where } from "./session.ts";
import { defineTool } from "./tool.ts";

const output = runResult.extend({
  success: z.boolean().describe("whether it ended with 0"),
  execution_time_sec: z.number(),
  findings: z.array(finding).optional().describe("of code that failed: what validate_code says about it"),
  ...where,
});

export const runSandboxCode = defineTool({
  name: "run_sandbox_code",
  title: "Run checked code",
  sets: ["data"],
  permission: "use",
  description: [
    "Checks Python code by policy strict, then runs it in your sandbox's workspace and returns stdout, stderr and how long it took.",
    "Refused before it runs: syntax errors, eval, exec, escapes through dunder attributes, and imports that are not on the list",
    "(os, sys, subprocess, socket and others); `details.findings` says what and where. Write it without them;",
    "code that has to have them is for execute_code, where the sandbox alone holds it.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({
    code: z.string().min(1).describe("the Python program, whole"),
    timeout_sec: z.number().min(0).max(1e9).optional().describe("wall clock; 60 unless given"),
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
