import { z } from "zod";
import { processCommand, processInfo, showProcess, startBody } from "../schemas/process.ts";
import { sessionId, sessionOf, where, whereOf } from "./session.ts";
import { defineTool } from "./tool.ts";

const { command, cwd, env, timeout_seconds, resource_limits, stdin, terminal } = startBody.shape;

export const startProcess = defineTool({
  name: "start_process",
  title: "Start a process",
  sets: ["sessions"],
  scope: "use",
  description: [
    "Starts a background program in your sandbox and returns at once: servers, watchers, long jobs; with terminal also programs that need one.",
    "Read its output with process_output, write to it with process_input, end it with kill_process. It runs for an hour at most, also after you disconnect.",
    "Returns process_id. If policy forbids background processes, run it with execute_code.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    ...{ command, cwd, env, timeout_seconds, resource_limits, terminal },
    stdin: stdin.describe("allow process_input to write to it; a terminal always has input"),
    session_id: sessionId,
  }),
  output: processInfo.omit({ id: true }).extend({ process_id: z.string(), ...where }),
  run: async (call, input) => {
    const { caller, parts, signal } = call;
    const { session_id, ...body } = input;
    const command = processCommand(body);
    const record = await sessionOf(call, session_id);
    const info = await parts.fleet.run(caller, record.id, command, { signal }, async (sandbox) =>
      showProcess((await sandbox.startProcess()).info()),
    );
    const { id: process_id, ...rest } = info;
    return { structured: { process_id, ...rest, ...whereOf(record) } };
  },
});
