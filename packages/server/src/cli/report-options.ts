import { AppError } from "../core/errors.ts";
import { type OptionSpecs, type ParsedOptions, parseOptions } from "./options.ts";

export const configOption = {
  type: "string",
  value: "FILE",
  help: "settings from FILE instead of caisson.yaml in the data folder",
} as const;

export const namespaceOption = {
  type: "string",
  short: "n",
  value: "NAME",
  help: "of another tenant than the key's own; for administrators",
} as const;

export const helpOption = { type: "boolean", short: "h", help: "this text" } as const;

/** Those of the commands that only tell something. */
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

/** Undefined when help was asked for. */
export function parseReport(args: readonly string[]): ReportPlan | undefined {
  const options = parseOptions(args, reportOptionSpecs);
  if (options.flag("help")) return undefined;
  const [extra] = options.rest;
  if (extra !== undefined)
    throw new AppError("invalid", `'${extra}' is not expected here`, { hint: "--help says what is" });
  return readReport(options);
}
