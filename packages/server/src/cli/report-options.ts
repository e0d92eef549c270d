import { AppError } from "../core/errors.ts";
import { type OptionSpecs, type ParsedOptions, parseOptions } from "./options.ts";

export const configOption = {
  type: "string",
  value: "FILE",
  help: "read settings from FILE (default: caisson.yaml in the data folder)",
} as const;

export const namespaceOption = {
  type: "string",
  short: "n",
  value: "NAME",
  help: "use this namespace (administrators only; default: the key's own)",
} as const;

export const helpOption = { type: "boolean", short: "h", help: "print this help" } as const;

/** How a command finds its daemon, for help texts. */
export const daemonHelp =
  "Uses the daemon of this data folder with its administrator key; CAISSON_URL and CAISSON_API_KEY select another one.";

/** Options of commands that only print something. */
export const reportOptionSpecs = {
  config: configOption,
  json: { type: "boolean", help: "print one JSON document" },
  help: helpOption,
} as const satisfies OptionSpecs;

export interface ReportPlan {
  json: boolean;
  configFile?: string;
}

export function readReport(options: ParsedOptions): ReportPlan {
  const configFile = options.text("config");
  return { json: options.flag("json"), ...(configFile === undefined ? {} : { configFile }) };
}

/** Undefined when --help is given. */
export function parseReport(args: readonly string[]): ReportPlan | undefined {
  const options = parseOptions(args, reportOptionSpecs);
  if (options.flag("help")) return undefined;
  const [extra] = options.rest;
  if (extra !== undefined) throw new AppError("invalid", `unexpected argument '${extra}'`, { hint: "see --help" });
  return readReport(options);
}
