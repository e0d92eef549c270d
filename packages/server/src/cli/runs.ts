import type { Caisson } from "../app.ts";
import { AppError } from "../core/errors.ts";
import { recordLimits } from "../core/limits.ts";
import type { RunRecord } from "../core/run-record.ts";
import { formatOptions, type OptionSpecs, parseOptions } from "./options.ts";
import { type ReportPlan, readReport, reportOptionSpecs } from "./report-options.ts";
import type { RunIo } from "./run.ts";
import { visible } from "./terminal.ts";

export const runsOptionSpecs = {
  ...reportOptionSpecs,
  json: { type: "boolean", help: "print one JSON document, with output and changed files" },
} as const satisfies OptionSpecs;

export interface RunsPlan extends ReportPlan {
  sandboxId?: string;
}

/** Undefined when help was asked for. */
export function parseRuns(args: readonly string[]): RunsPlan | undefined {
  const options = parseOptions(args, runsOptionSpecs);
  if (options.flag("help")) return undefined;
  const [sandboxId, more] = options.rest;
  if (more !== undefined) throw new AppError("invalid", "one sandbox at a time", { hint: "caisson runs [SANDBOX]" });
  return { ...readReport(options), ...(sandboxId === undefined ? {} : { sandboxId }) };
}

export function runsHelpText(): string {
  return `usage: caisson runs [OPTIONS] [SANDBOX]

Lists the records of a sandbox's runs, or the last ${recordLimits.recent} of all, oldest first. A sandbox may be gone: records go by
the settings runs.keep and runs.days.

${formatOptions(runsOptionSpecs)}
`;
}

function outcomeOf(record: RunRecord): string {
  if (record.error !== null) return record.error.code;
  if (record.timed_out) return "time-out";
  if (record.oom_killed) return "memory";
  return record.cpu_limit ? "cpu time" : String(record.exit_code);
}

function row(record: RunRecord): string {
  const when = record.started_at.replace("T", " ").slice(0, 19);
  const spent = `${record.duration_ms} ms`.padStart(11);
  const command = visible(record.command.replaceAll("\n", " ")).slice(0, recordLimits.shownCharacters);
  return `${when}  ${record.sandbox_id}  ${outcomeOf(record).padEnd(9)}${spent}  ${command}\n`;
}

export async function listRuns(caisson: Caisson, plan: RunsPlan, io: RunIo): Promise<number> {
  const records = plan.sandboxId === undefined ? await caisson.recentRuns() : await caisson.runs(plan.sandboxId);
  if (plan.json) io.stdout.write(`${JSON.stringify(records, null, 2)}\n`);
  else if (records.length === 0) io.stderr.write("caisson: no such run is recorded\n");
  else for (const record of records) io.stdout.write(row(record));
  return 0;
}
