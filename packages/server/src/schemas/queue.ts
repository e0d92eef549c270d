import { z } from "zod";
import { type QueuedJob, queuedKinds } from "../core/fleet.ts";

export const jobId = z.strictObject({ job_id: z.string().min(1).max(64).describe("id of a waiting job") });

/** A job that waits, as its namespace sees it. */
export const queuedJob = z
  .object({
    id: z.string(),
    kind: z.enum(queuedKinds),
    sandbox_id: z.string().nullable(),
    request_id: z.string(),
    priority: z.number().int(),
    position: z.number().int().describe("position in the namespace's queue; 1 is next"),
    waiting_ms: z.number(),
  })
  .meta({ id: "QueuedJob" });

export function showQueuedJob({ sandboxId, requestId, waitingMs, ...job }: QueuedJob): z.output<typeof queuedJob> {
  return { ...job, sandbox_id: sandboxId, request_id: requestId, waiting_ms: Math.round(waitingMs) };
}
