import { z } from "zod";
import { filePath } from "../schemas/sandbox.ts";
import { existingSession, sessionId, where, whereOf } from "./session.ts";
import { defineTool } from "./tool.ts";

export const deleteFile = defineTool({
  name: "delete_file",
  title: "Delete a file",
  sets: ["files"],
  scope: "use",
  description: [
    "Deletes a file of your sandbox; with recursive also a folder and its content. Paths are relative to /workspace, or absolute in /workspace, /home/user and /tmp.",
    "This cannot be undone, except from an earlier snapshot (create_state_snapshot).",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  ends: true,
  input: z.strictObject({ path: filePath.min(1), recursive: z.boolean().default(false), session_id: sessionId }),
  output: z.object({ path: z.string(), deleted: z.literal(true), ...where }),
  run: async (call, { path, recursive, session_id }) => {
    const record = await existingSession(call, session_id);
    await call.parts.fleet.use(call.caller, record.id, ({ files }) => files.remove(path, { recursive }));
    await call.parts.journal.record({
      type: "file.deleted",
      by: call.caller,
      sandboxId: record.id,
      data: { path, recursive },
    });
    return { structured: { path, deleted: true as const, ...whereOf(record) } };
  },
});
