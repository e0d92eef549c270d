import { z } from "zod";
import { toJson } from "../audit-export/audit-json.ts";
import type { JournalEvent } from "../core/journal.ts";
import { type RunReport, reportLists } from "../core/run-report.ts";
import { eventOf } from "../journal/event-row.ts";
import { approval, showApproval } from "./approval.ts";
import { auditRow } from "./audit.ts";
import { attempt, showAttempt } from "./egress-attempt.ts";
import { queuedJob, showQueuedJob } from "./queue.ts";
import { runRecord } from "./run-record.ts";

/** Attempts are found by sandbox and time, and the answer says so. */
const attemptsScope = "attempts in its sandbox while it ran";

const runArtifact = z
  .object({
    path: z.string().describe("relative to /workspace/output"),
    size_bytes: z.number(),
    sha256: z.string().nullable(),
  })
  .meta({ id: "RunArtifact" });

const runEvent = z
  .object({
    type: z.string(),
    id: z.number().int().nullable().describe("the position of its audit entry"),
    at: z.iso.datetime(),
    namespace: z.string(),
    sandbox_id: z.string().nullable(),
    run_id: z.string().nullable(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: "RunEvent" });

const time = z.iso.datetime().nullable();

export const runReport = z
  .object({
    run_id: z.string(),
    sandbox_id: z.string(),
    job: queuedJob.nullable().describe("its place in the queue; null where it does not wait"),
    record: runRecord.nullable().describe("null before the run has ended, and where no record is kept"),
    approvals: z.array(approval).describe("those that it asked for, or that answered it"),
    audit: z.array(auditRow).describe("oldest first; below the role operator, the key's own entries only"),
    events: z.array(runEvent).describe("those that are stored, oldest first"),
    egress: z.object({
      scope: z
        .literal(attemptsScope)
        .describe("a connection carries no run: those of other runs at the time are here too"),
      from: time.describe("null where no start is recorded"),
      to: time.describe("null where no end is recorded"),
      attempts: z.array(attempt).describe("the newest, oldest of them first"),
    }),
    artifacts: z.array(runArtifact).describe("files below /workspace/output that it created or modified"),
    truncated: z.array(z.enum(reportLists)).describe("lists that may have more entries than are shown"),
  })
  .meta({ id: "RunReport" });

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

function showEvent({ type, id, at, namespace, sandbox_id, run_id, data }: JournalEvent): z.output<typeof runEvent> {
  return { type, id, at, namespace, sandbox_id, run_id, data: { ...data } };
}

export function showRunReport({ egress, ...report }: RunReport): z.output<typeof runReport> {
  return {
    run_id: report.runId,
    sandbox_id: report.sandboxId,
    job: report.job === undefined ? null : showQueuedJob(report.job),
    record: report.record ?? null,
    approvals: report.approvals.map(showApproval),
    audit: report.readable.map(toJson),
    events: report.rows.flatMap((row) => eventOf(row) ?? []).map(showEvent),
    egress: {
      scope: attemptsScope,
      from: iso(egress.fromMs),
      to: iso(egress.toMs),
      attempts: egress.attempts.map(showAttempt),
    },
    artifacts: report.artifacts,
    truncated: report.truncated,
  };
}
