import { jobId, queuedJob, showQueuedJob } from "../schemas/queue.ts";
import { defineTool } from "./tool.ts";

export const cancelJob = defineTool({
  name: "cancel_job",
  title: "Cancel what waits",
  sets: ["admin"],
  scope: "use",
  description: [
    "Cancels a queued job of your namespace: a run, a start or a copy of a sandbox, a build. Its caller gets `conflict`.",
    "sandbox_stats lists queued jobs with their ids. Use it so that another job runs first. To cancel your own call, use the protocol.",
    "A job that has started is not in the queue: kill_process ends a process, terminate_session a session.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  ends: true,
  input: jobId,
  output: queuedJob,
  run: async (call, { job_id }) => {
    const job = call.parts.fleet.cancel(call.caller, job_id);
    const { kind, sandboxId, requestId } = job;
    await call.parts.journal.record({
      type: "job.cancelled",
      by: call.caller,
      sandboxId,
      data: { job_id, kind, request_id: requestId },
    });
    return { structured: showQueuedJob(job) };
  },
});
