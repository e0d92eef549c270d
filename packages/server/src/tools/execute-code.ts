import { z } from "zod";
import { defined } from "../core/defined.ts";
import { languages } from "../core/language.ts";
import type { RunResult } from "../core/run.ts";
import { toolLimits } from "../core/tool-limits.ts";
import { runFields, runResult, toRunLimits } from "../schemas/run.ts";
import { LiveOutput } from "./live-output.ts";
import { sessionId, sessionOf } from "./session.ts";
import { defineTool } from "./tool.ts";

const { cwd, env, stdin, timeout_seconds, resource_limits, allowed_domains } = runFields;

export const executeCode = defineTool({
  name: "execute_code",
  title: "Run code",
  sets: ["core"],
  permission: "use",
  description: [
    "Runs Python, Node.js or shell code in your own sealed Linux sandbox and returns stdout, stderr, the exit code and the files it changed.",
    "Files under /workspace stay between calls; what should be handed to the user goes to /workspace/output.",
    "There is no network unless a policy opens it: on a refusal read `hint`, and ask with request_egress instead of trying other ways.",
    "Install libraries with install_package, not with pip or npm in the code.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    code: z.string().min(1).describe("the program, whole"),
    language: z.enum(languages).default("python"),
    session_id: sessionId,
    ...{ cwd, env, stdin, timeout_seconds, resource_limits, allowed_domains },
  }),
  output: runResult.extend({ session_id: z.string(), sandbox_id: z.string() }),
  run: async (call, input) => {
    const { caller, parts, signal, progress } = call;
    const { code, language, session_id } = input;
    const record = await sessionOf(call, session_id);
    const outputBytes = input.resource_limits?.max_output_bytes ?? toolLimits.outputBytes.default;
    const limits = { ...toRunLimits(input), outputBytes };
    const live = progress === undefined ? undefined : new LiveOutput(progress, outputBytes);
    const job = {
      kind: "code" as const,
      command: code,
      signal,
      beside: { language, ...defined({ cwd: input.cwd, env: input.env, stdin: input.stdin }) },
      ...defined({ allowedDomains: input.allowed_domains }),
      streams: live !== undefined,
    };
    const result: RunResult = await parts.fleet.run(caller, record.id, job, async (sandbox) => {
      const options = defined({ cwd: input.cwd, env: input.env, stdin: input.stdin, onOutput: live?.take });
      return sandbox.executeCode({ language, code, limits, signal, ...options });
    });
    const output = live && { stdout: live.text("stdout"), stderr: live.text("stderr"), truncated: live.truncated };
    const where = { session_id: record.sessionKey ?? record.id, sandbox_id: record.id };
    return { structured: { ...result, ...output, ...where } };
  },
});
