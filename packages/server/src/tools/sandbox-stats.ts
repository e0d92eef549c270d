import { z } from "zod";
import { sandboxStates } from "../core/lifecycle.ts";
import { queuedJob, showQueuedJob } from "../schemas/queue.ts";
import { countSandboxes } from "./count-sandboxes.ts";
import { findSession } from "./find-session.ts";
import { sessionId } from "./session.ts";
import { defineTool } from "./tool.ts";
import { usage, usageOf } from "./usage.ts";

export const sandboxStats = defineTool({
  name: "sandbox_stats",
  title: "How the place is doing",
  sets: ["admin"],
  scope: "read",
  description: [
    "Returns the queue of runs, the sandboxes of your namespace by state, the number of sessions, and your session's current usage.",
    "Use it if calls are slow or refused as too many: waiting close to max_waiting means a full queue.",
    "`session` is null if your session is unused or does not run.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ session_id: sessionId }),
  output: z.object({
    uptime_seconds: z.number(),
    queue: z.object({
      running: z.number(),
      waiting: z.number(),
      max_concurrent: z.number(),
      max_waiting: z.number(),
      jobs: z.array(queuedJob).describe("queued jobs of your namespace, next first"),
    }),
    sandboxes: z.record(z.enum(sandboxStates), z.number()),
    sessions: z.number(),
    session: usage.nullable(),
  }),
  run: async (call, { session_id = call.session }) => {
    const { fleet } = call.parts;
    const { running, waiting, maxConcurrent, maxWaiting } = fleet.queue();
    const jobs = fleet.waiting(call.caller).map(showQueuedJob);
    const { states, sessions } = await countSandboxes(fleet, call.caller);
    const record = await findSession(call, session_id);
    return {
      structured: {
        uptime_seconds: process.uptime(),
        queue: { running, waiting, max_concurrent: maxConcurrent, max_waiting: maxWaiting, jobs },
        sandboxes: states,
        sessions,
        session: record === undefined ? null : await usageOf(call, record),
      },
    };
  },
});
