import { z } from "zod";
import { defined } from "../lib/defined.ts";
import { checkpointForAgents, showForAgents } from "../schemas/checkpoint.ts";
import { findSession } from "./find-session.ts";
import { sessionId } from "./session.ts";
import { sessionLimits } from "./session-limits.ts";
import { defineTool } from "./tool.ts";

export const listCheckpoints = defineTool({
  name: "list_checkpoints",
  title: "List checkpoints",
  sets: ["sessions"],
  scope: "read",
  description: [
    "Lists the checkpoints of your namespace, newest first, also of ended sessions; with session_id only those of that session.",
    "Use it to find the checkpoint_id for restore_checkpoint. truncated: older ones are omitted.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ session_id: sessionId.describe("only checkpoints of this session") }),
  output: z.object({ checkpoints: z.array(checkpointForAgents), truncated: z.boolean() }),
  run: async (call, { session_id }) => {
    const limit = sessionLimits.checkpoints + 1;
    const sandboxId = session_id === undefined ? undefined : ((await findSession(call, session_id))?.id ?? session_id);
    const found = await call.parts.fleet.checkpoints.list(call.caller, { limit, ...defined({ sandboxId }) });
    const checkpoints = found.slice(0, sessionLimits.checkpoints).map(showForAgents);
    return { structured: { checkpoints, truncated: found.length === limit } };
  },
});
