import { z } from "zod";
import { createSnapshot, showStateSnapshot, stateSnapshot } from "../schemas/snapshot.ts";
import { sessionId, sessionOf } from "./session.ts";
import { defineTool } from "./tool.ts";

export const createStateSnapshot = defineTool({
  name: "create_state_snapshot",
  title: "Take a snapshot",
  sets: ["sessions"],
  permission: "use",
  description: [
    "Saves the files of your workspace as they are now: names, contents, hashes, times. Variables and processes are not in it.",
    "Use it before something risky, and give it a description that you will know it by.",
    "Comes back: snapshot_id for restore_state_snapshot. When there are too many, delete some first.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({ description: createSnapshot.shape.description, session_id: sessionId }),
  output: stateSnapshot,
  run: async (call, { description, session_id }) => {
    const { caller, parts } = call;
    const { id } = await sessionOf(call, session_id);
    const taken = await parts.fleet.use(caller, id, (sandbox) => parts.snapshots.create(caller, sandbox, description));
    return { structured: showStateSnapshot(taken) };
  },
});
