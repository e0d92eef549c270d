import { z } from "zod";
import { createSnapshot, showStateSnapshot, stateSnapshot } from "../schemas/snapshot.ts";
import { sessionId, sessionOf } from "./session.ts";
import { defineTool } from "./tool.ts";

export const createStateSnapshot = defineTool({
  name: "create_state_snapshot",
  title: "Take a snapshot",
  sets: ["sessions"],
  scope: "use",
  description: [
    "Saves the current files of your workspace: names, contents, hashes, times. Variables and processes are not saved.",
    "Use it before a risky step, with a description that you will recognise.",
    "Returns snapshot_id for restore_state_snapshot. If there are too many, delete some first.",
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
