import { z } from "zod";
import { showStateSnapshot, stateSnapshot } from "../schemas/snapshot.ts";
import { findSession } from "./find-session.ts";
import { sessionId } from "./session.ts";
import { sessionLimits } from "./session-limits.ts";
import { defineTool } from "./tool.ts";

export const listStateSnapshots = defineTool({
  name: "list_state_snapshots",
  title: "List snapshots",
  sets: ["sessions"],
  scope: "read",
  description: [
    "Lists the snapshots of your session, oldest first; with all_sessions those of all sessions of your namespace, also ended ones.",
    "Use it to find the snapshot_id for restore_state_snapshot. truncated: older ones are omitted.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ session_id: sessionId, all_sessions: z.boolean().default(false) }),
  output: z.object({ snapshots: z.array(stateSnapshot), truncated: z.boolean() }),
  run: async (call, { session_id = call.session, all_sessions }) => {
    const limit = sessionLimits.snapshots + 1;
    const record = all_sessions ? undefined : await findSession(call, session_id);
    if (!all_sessions && record === undefined) return { structured: { snapshots: [], truncated: false } };
    const of = record === undefined ? {} : { sandboxId: record.id };
    const found = await call.parts.snapshots.list(call.caller, { ...of, limit });
    const shown = found.slice(0, sessionLimits.snapshots).toReversed();
    const snapshots = shown.map(showStateSnapshot);
    return { structured: { snapshots, truncated: found.length === limit } };
  },
});
