import { z } from "zod";
import { processInfo, showProcess } from "../schemas/process.ts";
import { existingSession, sessionId, where, whereOf } from "./session.ts";
import { defineTool } from "./tool.ts";

const shown = processInfo.omit({ id: true }).extend({ process_id: z.string() });

export const listProcesses = defineTool({
  name: "list_processes",
  title: "List processes",
  sets: ["sessions"],
  scope: "read",
  description:
    "Lists the background processes of your sandbox, also ended ones, with state and exit code. Use it to find a process_id.",
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ session_id: sessionId }),
  output: z.object({ processes: z.array(shown), ...where }),
  run: async (call, { session_id }) => {
    const record = await existingSession(call, session_id);
    const found = await call.parts.fleet.use(call.caller, record.id, async (sandbox) => sandbox.processes.list());
    const processes = found.map((info) => {
      const { id: process_id, ...rest } = showProcess(info);
      return { process_id, ...rest };
    });
    return { structured: { processes, ...whereOf(record) } };
  },
});
