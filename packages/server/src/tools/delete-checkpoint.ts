import { z } from "zod";
import { checkpointId } from "../schemas/checkpoint.ts";
import { defineTool } from "./tool.ts";

export const deleteCheckpoint = defineTool({
  name: "delete_checkpoint",
  title: "Delete a checkpoint",
  sets: ["sessions"],
  permission: "use",
  description: [
    "Deletes a checkpoint for good, and the key that opens it; sessions that went on from it are not touched.",
    "Use it when it is no longer needed, or when there are too many.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({ checkpoint_id: checkpointId.shape.checkpoint_id }),
  output: z.object({ checkpoint_id: z.string(), deleted: z.literal(true) }),
  run: async ({ caller, parts }, { checkpoint_id }) => {
    await parts.fleet.checkpoints.delete(caller, checkpoint_id);
    return { structured: { checkpoint_id, deleted: true as const } };
  },
});
