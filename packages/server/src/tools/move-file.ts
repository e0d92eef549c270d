import { z } from "zod";
import { filePath } from "../schemas/sandbox.ts";
import { existingSession, sessionId, where, whereOf } from "./session.ts";
import { defineTool } from "./tool.ts";

export const moveFile = defineTool({
  name: "move_file",
  title: "Move a file",
  sets: ["files"],
  scope: "use",
  description: [
    "Moves or renames a file or folder of your sandbox. Paths are relative to /workspace, or absolute in /workspace, /home/user and /tmp.",
    "Refused if the target exists, unless replace is set.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({
    from: filePath.min(1),
    to: filePath.min(1),
    replace: z.boolean().default(false),
    session_id: sessionId,
  }),
  output: z.object({ from: z.string(), to: z.string(), ...where }),
  run: async (call, { from, to, replace, session_id }) => {
    const record = await existingSession(call, session_id);
    await call.parts.fleet.use(call.caller, record.id, ({ files }) => files.move(from, to, { replace }));
    await call.parts.journal.record({
      type: "file.moved",
      by: call.caller,
      sandboxId: record.id,
      data: { from, to, replace },
    });
    return { structured: { from, to, ...whereOf(record) } };
  },
});
