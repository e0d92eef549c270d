import { z } from "zod";
import { endSession, existingSession, sessionId, where, whereOf } from "./session.ts";
import { defineTool } from "./tool.ts";

export const terminateSession = defineTool({
  name: "terminate_session",
  title: "End a session",
  sets: ["sessions"],
  scope: "use",
  description: [
    "Permanently deletes a session: kills its processes and deletes its files and variables. This cannot be undone.",
    "Use it at the end of the work, after the user has the results (get_artifacts, create_state_snapshot).",
    "Returns terminated. An unknown session_id is refused; inspect_state lists the existing ones.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  ends: true,
  input: z.strictObject({ session_id: sessionId.unwrap().describe("from create_session, or a sandbox's id") }),
  output: z.object({ ...where, terminated: z.literal(true) }),
  run: async (call, { session_id }) => {
    const record = await existingSession(call, session_id);
    const { caller, parts } = call;
    await parts.fleet.destroy(caller, record.id);
    await endSession(parts.fleet, caller, session_id); // its browser
    return { structured: { ...whereOf(record), terminated: true as const } };
  },
});
