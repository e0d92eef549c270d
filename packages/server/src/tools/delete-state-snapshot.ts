import { z } from "zod";
import { snapshotId } from "../schemas/snapshot.ts";
import { defineTool } from "./tool.ts";

export const deleteStateSnapshot = defineTool({
  name: "delete_state_snapshot",
  title: "Delete a snapshot",
  sets: ["sessions"],
  scope: "use",
  description: [
    "Permanently deletes a snapshot; the workspace does not change. Use it for a snapshot that is no longer needed, or if there are too many.",
    "Refused during a restore of it: try again afterwards.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  ends: true,
  input: z.strictObject({ snapshot_id: snapshotId.shape.snapshot_id }),
  output: z.object({ snapshot_id: z.string(), deleted: z.literal(true) }),
  run: async ({ caller, parts }, { snapshot_id }) => {
    await parts.snapshots.delete(caller, snapshot_id);
    return { structured: { snapshot_id, deleted: true as const } };
  },
});
