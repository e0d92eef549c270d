import { z } from "zod";
import { checkpointForAgents, createCheckpoint as request, showForAgents } from "../schemas/checkpoint.ts";
import { existingSession, sessionId } from "./session.ts";
import { defineTool } from "./tool.ts";

export const createCheckpoint = defineTool({
  name: "create_checkpoint",
  title: "Save a running session",
  sets: ["sessions"],
  scope: "use",
  description: [
    "Saves your running session: variables, processes, open files and the workspace. The session continues.",
    "Use it after slow work, such as loading data, so that restore_checkpoint can continue from there. create_state_snapshot saves only files, on every engine.",
    "Returns checkpoint_id. Needs the engine gvisor (create_session with engine gvisor); a session that ever had a secret's value is refused (unsupported).",
    "Code in the session's interpreter must end first (conflict).",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({ name: request.shape.name, session_id: sessionId }),
  output: checkpointForAgents,
  run: async (call, { name, session_id }) => {
    const { id } = await existingSession(call, session_id);
    return { structured: showForAgents(await call.parts.fleet.checkpoints.create(call.caller, id, name)) };
  },
});
