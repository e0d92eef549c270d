import { z } from "zod";
import { snapshotId } from "../schemas/snapshot.ts";
import { defineTool } from "./tool.ts";

export const deleteStateSnapshot = defineTool({
  name: "delete_state_snapshot",
  title: "Delete a snapshot",
  sets: ["sessions"],
  permission: "use",
  description: [
    "Deletes a snapshot for good; the workspace stays as it is. Use it when it is no longer needed, or when there are too many.",
    "Refused while it is being restored: try again afterwards.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({ snapshot_id: snapshotId.shape.snapshot_id }),
  output: z.object({ snapshot_id: z.string(), deleted: z.literal(true) }),
  run: async ({ caller, parts }, { snapshot_id }) => {
    await parts.snapshots.delete(caller, snapshot_id);
    return { structured: { snapshot_id, deleted: true as const } };
  },
});
