import { z } from "zod";
import { hostLimits } from "../host-access/limits.ts";
import { defined } from "../lib/defined.ts";
import { defineTool } from "./tool.ts";

const { timeoutMs, words } = hostLimits;

export const hostExec = defineTool({
  name: "host_exec",
  title: "Run a command on the host",
  sets: ["host"],
  scope: "use",
  description: [
    "Runs one program on the host machine, if its operator has allowed that exact command; list_host_access lists them.",
    "Prefer execute_code: use this only for work that must run on the host.",
    "There is no shell: pipes, redirections, variables, wildcards and && are refused. Pass the words as a list to avoid quoting.",
    "On a refusal read `hint`: call request_host_access, or wait for the approval that it names and call again. Do not try other spellings.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    command: z
      .union([z.string().min(1), z.array(z.string()).min(1).max(words)])
      .describe('the program and its arguments, as one text with quotes or as a list: ["docker", "restart", "web"]'),
    timeout_seconds: z
      .number()
      .min(timeoutMs.min / 1000)
      .max(timeoutMs.max / 1000)
      .optional()
      .describe(`${timeoutMs.default / 1000} by default; then the program is killed`),
  }),
  output: z.object({
    stdout: z.string(),
    stderr: z.string(),
    stdout_truncated: z.boolean(),
    stderr_truncated: z.boolean(),
    exit_code: z.number().int().nullable().describe("null if a signal ended it"),
    signal: z.string().nullable(),
    timed_out: z.boolean(),
    duration_ms: z.number(),
  }),
  run: async ({ caller, parts, signal }, { command, timeout_seconds: seconds }) => {
    const timeout = seconds === undefined ? undefined : Math.round(seconds * 1000);
    return { structured: await parts.host.exec(caller, command, { signal, ...defined({ timeoutMs: timeout }) }) };
  },
});
