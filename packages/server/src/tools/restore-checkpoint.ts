import { z } from "zod";
import { checkpointId } from "../schemas/checkpoint.ts";
import { defineTool } from "./tool.ts";

export const restoreCheckpoint = defineTool({
  name: "restore_checkpoint",
  title: "Go on from a checkpoint",
  sets: ["sessions"],
  permission: "use",
  description: [
    "Makes a new session that goes on from a checkpoint: the variables, processes and files of that moment. The session it was taken of is not touched, and may be gone.",
    "Use it to repeat work from a known state, as often as you like.",
    "Comes back: sandbox_id; give it as session_id to execute_code and the other tools, and to terminate_session when it is done.",
    "One restore of a checkpoint at a time: on conflict try again.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({ checkpoint_id: checkpointId.shape.checkpoint_id }),
  output: z.object({ checkpoint_id: z.string(), sandbox_id: z.string().describe("give it as session_id") }),
  run: async (call, { checkpoint_id }) => {
    const { id: sandbox_id } = await call.parts.fleet.checkpoints.restore(call.caller, checkpoint_id);
    call.using?.(sandbox_id);
    return { structured: { checkpoint_id, sandbox_id } };
  },
});
