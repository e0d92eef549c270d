import { z } from "zod";
import type { RunReports } from "../sandboxes/run-reports.ts";
import { runReport, showRunReport } from "../schemas/run-report.ts";
import { defineRoute, type Route } from "./route.ts";

const runId = z.strictObject({ run_id: z.string().min(1).max(64).describe("from the run's result") });

/** Everything about one run, found by its id (EXE-14). */
export function runReportRoutes(reports: RunReports): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/api/v1/runs/{run_id}",
      tag: "exec",
      summary: "One run: its record, approvals, audit entries, events, connection attempts and artifacts",
      scope: "read",
      audit: null,
      params: runId,
      responses: { 200: { description: "what is kept of it", schema: runReport } },
      handler: async ({ caller, params }) => ({
        status: 200,
        json: showRunReport(await reports.find(caller, params.run_id)),
      }),
    }),
  ];
}
