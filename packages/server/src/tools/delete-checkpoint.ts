import { z } from "zod";
import { checkpointId } from "../schemas/checkpoint.ts";
import { defineTool } from "./tool.ts";

export const deleteCheckpoint = defineTool({
  name: "delete_checkpoint",
  title: "Delete a checkpoint",
  sets: ["sessions"],
  scope: "use",
  description: [
    "Permanently deletes a checkpoint and its encryption key; sessions restored from it are not affected.",
    "Use it for a checkpoint that is no longer needed, or if there are too many.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  ends: true,
  input: z.strictObject({ checkpoint_id: checkpointId.shape.checkpoint_id }),
  output: z.object({ checkpoint_id: z.string(), deleted: z.literal(true) }),
  run: async ({ caller, parts }, { checkpoint_id }) => {
    await parts.fleet.checkpoints.delete(caller, checkpoint_id);
    return { structured: { checkpoint_id, deleted: true as const } };
  },
});
