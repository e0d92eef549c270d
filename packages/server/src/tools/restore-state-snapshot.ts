import { z } from "zod";
import { restored, showRestored, snapshotId } from "../schemas/snapshot.ts";
import { sessionId, sessionOf, where, whereOf } from "./session.ts";
import { defineTool } from "./tool.ts";

export const restoreStateSnapshot = defineTool({
  name: "restore_state_snapshot",
  title: "Go back to a snapshot",
  sets: ["sessions"],
  scope: "use",
  description: [
    "Restores the files of your workspace: deletes files that are not in the snapshot, rewrites changed ones, creates missing ones, restores times.",
    "Later changes are lost: take another snapshot first if you may need them. Variables of the interpreter do not change.",
    "Returns how many files were deleted, written and changed.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ snapshot_id: snapshotId.shape.snapshot_id, session_id: sessionId }),
  output: restored.extend({ snapshot_id: z.string(), ...where }),
  run: async (call, { snapshot_id, session_id }) => {
    const { caller, parts } = call;
    await parts.snapshots.get(caller, snapshot_id); // no sandbox is made for one that is not there
    const record = await sessionOf(call, session_id);
    const outcome = await parts.fleet.use(caller, record.id, (sandbox) =>
      parts.snapshots.restore(caller, sandbox, snapshot_id),
    );
    return { structured: { snapshot_id, ...showRestored(outcome), ...whereOf(record) } };
  },
});
