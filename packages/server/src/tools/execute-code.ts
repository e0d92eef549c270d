import { z } from "zod";
import type { StatefulResult } from "../core/context.ts";
import { languages } from "../core/language.ts";
import type { RunResult } from "../core/run.ts";
import { explainRun, type LimitNames } from "../core/run-end.ts";
import { defined } from "../lib/defined.ts";
import { contextRunResult } from "../schemas/context.ts";
import { processResult, runFields, runResult } from "../schemas/run.ts";
import { finding, policy } from "../schemas/validation.ts";
import { codeCommand, isStateful } from "./code-command.ts";
import { admitCode, adviseOn } from "./code-policy.ts";
import { toolLimits } from "./limits.ts";
import { LiveOutput } from "./live-output.ts";
import { languageOf, sessionId, sessionOf, timeoutOf, where, whereOf } from "./session.ts";
import { showFiles } from "./show-files.ts";
import { showResults } from "./show-results.ts";
import { defineTool, type ToolContent } from "./tool.ts";

const { cwd, env, stdin, stdin_base64, timeout_seconds, resource_limits, allowed_domains } = runFields;
const { results, error } = contextRunResult.shape;
const { stdout, stderr } = runResult.shape;

const limitNames: LimitNames = {
  time: "timeout_seconds",
  cpu_time: "resource_limits.cpu_time_seconds",
  memory: "resource_limits.memory_mb, or the session's limit",
  output: "resource_limits.max_output_bytes",
};

/** What a run of either kind gives. */
const codeResult = z.object({
  ...{ stdout, stderr },
  results: results.optional().describe("stateful: the value of the last expression, and arguments of display()"),
  error: error.describe("stateful: the exception, with its traceback"),
  findings: z.array(finding).optional().describe("findings of validate_code, if the code failed"),
  ...runResult.shape,
  cpu_ms: processResult.cpu_ms.optional(),
  max_rss: processResult.max_rss.optional(),
  state: z.enum(["new", "kept"]).optional().describe("stateful: kept if variables of earlier calls were there"),
  ...where,
});

export const executeCode = defineTool({
  name: "execute_code",
  title: "Run code",
  sets: ["core"],
  scope: "use",
  description: [
    "Runs Python, Node.js or shell code in your own sealed Linux sandbox. Returns stdout, stderr, the exit code and the changed files.",
    "Files under /workspace stay between calls. Write files for the user to /workspace/output: you see its images, and get links to other files.",
    "With a session_id Python and Node.js code runs in that session's interpreter: variables and imports are kept, `results` has the value of the last expression, and `state` is `new` if earlier variables are gone. Without it every call is a new process.",
    "There is no network access unless policy allows it: on a refusal read `hint`, and call request_egress instead of trying other ways.",
    "Install libraries with install_package, not with pip or npm in the code.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    code: z.string().min(1).describe("the complete program"),
    language: z.enum(languages).optional().describe("default: the session's language, otherwise python"),
    session_id: sessionId,
    stateful: z
      .boolean()
      .optional()
      .describe(
        "keep variables between calls; default: true with session_id (if policy allows it), otherwise false; shell keeps none",
      ),
    policy: policy.default("advise").describe("strict refuses code before it runs if validate_code finds it dangerous"),
    ...{ cwd, env, stdin, stdin_base64, timeout_seconds, resource_limits, allowed_domains },
  }),
  output: codeResult,
  run: async (call, input) => {
    const { caller, parts, signal, progress } = call;
    const { code, session_id } = input;
    const record = await sessionOf(call, session_id);
    const language = input.language ?? languageOf(record);
    await admitCode(call, language, code, input.policy);
    const outputBytes = input.resource_limits?.max_output_bytes ?? toolLimits.outputBytes.default;
    // Where policy lets nothing live on, code that did not ask for that runs all the same.
    const { stateful = session_id !== undefined && parts.background.allowed } = input;
    const timeout_seconds =
      input.timeout_seconds ?? (input.resource_limits?.timeout_seconds === undefined ? timeoutOf(record) : undefined);
    const resource_limits = { ...input.resource_limits, max_output_bytes: outputBytes };
    const command = codeCommand(code, language, stateful, { ...input, timeout_seconds, resource_limits });
    const live = progress === undefined ? undefined : new LiveOutput(progress, outputBytes);
    const options = { signal, streams: live !== undefined };
    const io = defined({ signal, onOutput: live?.take });
    let left: ToolContent[] = [];
    const result = await parts.fleet.run(caller, record.id, command, options, async (sandbox) => {
      const ran: RunResult | StatefulResult = isStateful(command)
        ? await sandbox.runStateful(io)
        : await sandbox.run(io);
      left = await showFiles(sandbox.files, whereOf(record).session_id, ran.files_changed);
      return ran;
    });
    const output = live && { stdout: live.text("stdout"), stderr: live.text("stderr"), truncated: live.truncated };
    const { images, ...values } = "results" in result ? showResults(result.results) : { images: [] };
    const advice = await adviseOn(call, language, code, result);
    const structured = { ...result, ...output, ...values, ...advice, ...whereOf(record) };
    const said = explainRun(structured, limitNames).map((text) => ({ type: "text" as const, text }));
    return { structured, content: [...said, ...images, ...left] };
  },
});
