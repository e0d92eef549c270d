import { z } from "zod";
import { checkpointId } from "../schemas/checkpoint.ts";
import { defineTool } from "./tool.ts";

export const restoreCheckpoint = defineTool({
  name: "restore_checkpoint",
  title: "Go on from a checkpoint",
  sets: ["sessions"],
  scope: "use",
  description: [
    "Creates a session from a checkpoint, with the variables, processes and files of that moment. The original session is not affected, and may be deleted.",
    "Use it to continue from a known state, as often as you like.",
    "Returns sandbox_id: pass it as session_id to execute_code and other tools, and to terminate_session at the end.",
    "A checkpoint is restored once at a time: on conflict try again.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({ checkpoint_id: checkpointId.shape.checkpoint_id }),
  output: z.object({ checkpoint_id: z.string(), sandbox_id: z.string().describe("pass it as session_id") }),
  run: async (call, { checkpoint_id }) => {
    const { id: sandbox_id } = await call.parts.fleet.checkpoints.restore(call.caller, checkpoint_id);
    call.using?.(sandbox_id);
    return { structured: { checkpoint_id, sandbox_id } };
  },
});
