import { z } from "zod";
import type { Happening } from "../core/journal.ts";
import { processId } from "../schemas/process.ts";
import { existingSession, sessionId, where, whereOf } from "./session.ts";
import { defineTool } from "./tool.ts";

const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGSTOP", "SIGCONT"] as const;

export const killProcess = defineTool({
  name: "kill_process",
  title: "End a process",
  sets: ["sessions"],
  scope: "use",
  description: [
    "Ends a background process and its children at once. With signal it only sends that signal to the process group: SIGTERM or SIGINT allow it to exit by itself.",
    "Returns delivered: false if it had already ended. You can still read its output.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  ends: true,
  input: z.strictObject({
    process_id: processId.shape.process,
    signal: z.enum(signals).optional(),
    session_id: sessionId,
  }),
  output: z.object({ process_id: z.string(), delivered: z.boolean(), ...where }),
  run: async (call, { process_id, signal, session_id }) => {
    const record = await existingSession(call, session_id);
    const { delivered, runId } = await call.parts.fleet.use(call.caller, record.id, async ({ processes }) => {
      const process = processes.get(process_id);
      const { run_id } = process.info();
      if (signal !== undefined) return { delivered: process.signal(signal), runId: run_id };
      const killed = process.kill();
      if (killed) await process.wait().catch(() => undefined); // a lost one has ended too
      return { delivered: killed, runId: run_id };
    });
    const done: Happening =
      signal === undefined
        ? { type: "process.killed", data: { process_id } }
        : { type: "process.signalled", data: { process_id, signal } };
    await call.parts.journal.record({ ...done, by: call.caller, sandboxId: record.id, runId });
    return { structured: { process_id, delivered, ...whereOf(record) } };
  },
});
