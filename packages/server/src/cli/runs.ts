import { AppError } from "../core/errors.ts";
import { recordLimits } from "../core/limits.ts";
import { defined } from "../lib/defined.ts";
import { formatOptions, type OptionSpecs, parseOptions } from "./options.ts";
import { namespaceOption, type ReportPlan, readReport, reportOptionSpecs } from "./report-options.ts";

export const runsOptionSpecs = {
  ...reportOptionSpecs,
  json: { type: "boolean", help: "print one JSON document, with output and changed files" },
  namespace: namespaceOption,
} as const satisfies OptionSpecs;

export interface RunsPlan extends ReportPlan {
  sandboxId?: string;
  namespace?: string;
}

/** Undefined when help was asked for. */
export function parseRuns(args: readonly string[]): RunsPlan | undefined {
  const options = parseOptions(args, runsOptionSpecs);
  if (options.flag("help")) return undefined;
  const [sandboxId, more] = options.rest;
  if (more !== undefined) throw new AppError("invalid", "one sandbox at a time", { hint: "caisson runs [SANDBOX]" });
  return { ...readReport(options), ...defined({ sandboxId, namespace: options.text("namespace") }) };
}

export function runsHelpText(): string {
  return `usage: caisson runs [OPTIONS] [SANDBOX]

Lists the records of a sandbox's runs, or the last ${recordLimits.recent} of all, oldest first: those of a daemon, and those that caisson run
and shell left in the data folder. A sandbox may be gone: records go by the settings runs.keep and runs.days. Of a daemon's
sandboxes that are gone name one. caisson runs show RUN shows all about one run of a daemon.

${formatOptions(runsOptionSpecs)}

The daemon is that of this data folder, where one runs, with its administrator's key. CAISSON_URL and CAISSON_API_KEY name another:
then its records alone are listed.
`;
}
