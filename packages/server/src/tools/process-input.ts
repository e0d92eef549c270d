import { hash } from "node:crypto";
import { z } from "zod";
import { processId } from "../schemas/process.ts";
import { existingSession, sessionId, where, whereOf } from "./session.ts";
import { sessionLimits } from "./session-limits.ts";
import { defineTool } from "./tool.ts";

export const processInput = defineTool({
  name: "process_input",
  title: "Write to a process",
  sets: ["sessions"],
  scope: "use",
  description: [
    "Writes to the standard input of a background process that was started with stdin, or to its terminal: end a line with \\n; Ctrl-C is \\u0003.",
    "Returns delivered: false if the process no longer reads. Read its output with process_output.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    process_id: processId.shape.process,
    data: z.string().max(sessionLimits.writeChars).default(""),
    encoding: z.enum(["utf8", "base64"]).default("utf8"),
    close: z
      .boolean()
      .default(false)
      .describe("close standard input, so that a program that reads to the end continues"),
    session_id: sessionId,
  }),
  output: z.object({ process_id: z.string(), delivered: z.boolean(), ...where }),
  run: async (call, { process_id, data, encoding, close, session_id }) => {
    const record = await existingSession(call, session_id);
    const bytes = Buffer.from(data, encoding);
    const { delivered, runId } = await call.parts.fleet.use(call.caller, record.id, async ({ processes }) => {
      const process = processes.get(process_id);
      const taken = bytes.length === 0 || (await process.write(bytes));
      if (close) await process.closeInput();
      return { delivered: taken, runId: process.info().run_id };
    });
    const taken = { process_id, size_bytes: bytes.length, sha256: hash("sha256", bytes), close };
    const about = { by: call.caller, sandboxId: record.id, runId };
    await call.parts.journal.record({ type: "process.input", ...about, data: taken });
    return { structured: { process_id, delivered, ...whereOf(record) } };
  },
});
