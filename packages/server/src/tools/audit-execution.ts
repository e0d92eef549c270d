import { z } from "zod";
import { toJson } from "../audit-export/audit-json.ts";
import { AppError } from "../core/errors.ts";
import { isAllowed } from "../core/scope.ts";
import { defined } from "../lib/defined.ts";
import { auditRow } from "../schemas/audit.ts";
import { runReport, showRunReport } from "../schemas/run-report.ts";
import { existingSession, sessionId } from "./session.ts";
import { sessionLimits } from "./session-limits.ts";
import { defineTool, type ToolCall } from "./tool.ts";

const { auditRows } = sessionLimits;

export const auditExecution = defineTool({
  name: "audit_execution",
  title: "Read the audit log",
  sets: ["admin"],
  scope: "use",
  description: [
    "Returns the audit log, newest first: runs, files, packages, approvals, each with its hash in the chain. It contains hashes of commands and contents, never the text.",
    "An agent's key sees its own actions; an operator's key sees the namespace. For the next page set before to next_before.",
    "With run_id it also returns the run: its record, approvals, connection attempts and files in /workspace/output.",
    "Use it to show what happened, or to find the run that made a change.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    session_id: sessionId.describe("only entries of this session; default: all"),
    type: z.string().min(1).max(128).optional().describe("for example execution.completed"),
    run_id: z.string().min(1).max(64).optional().describe("only entries of this run; results contain run_id"),
    text: z.string().min(1).max(256).optional().describe("text to find in type, actor or detail"),
    before: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).default(Number.MAX_SAFE_INTEGER),
    limit: z.number().int().min(1).max(auditRows.max).default(auditRows.default),
  }),
  output: z.object({
    entries: z.array(auditRow),
    next_before: z.number().nullable(),
    run: runReport
      .omit({ audit: true, events: true })
      .meta({ id: "RunSummary" })
      .nullable()
      .describe("of run_id; null without it, and where nothing is kept of the run"),
  }),
  run: async (call, { session_id, type, run_id: runId, text, before, limit }) => {
    const { principal } = call.caller;
    const sandboxId = session_id === undefined ? undefined : (await existingSession(call, session_id)).id;
    const actor = isAllowed(principal, "operate") ? undefined : principal.id;
    const { namespace } = principal;
    const rows = await call.parts.audit.search({
      namespace,
      before,
      limit,
      ...defined({ sandboxId, type, runId, text, actor }),
    });
    const last = rows.length < limit ? undefined : rows.at(-1);
    const run = runId === undefined ? null : await runOf(call, runId);
    return { structured: { entries: rows.map(toJson), next_before: last?.position ?? null, run } };
  },
});

async function runOf({ caller, parts }: ToolCall, runId: string) {
  try {
    const { audit: _, events: __, ...run } = showRunReport(await parts.reports.find(caller, runId));
    return run;
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return null;
    throw error;
  }
}
