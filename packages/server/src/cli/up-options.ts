import { AppError } from "../core/errors.ts";
import { formatOptions, type OptionSpecs, parseOptions } from "./options.ts";
import { configOption, helpOption, reportOptionSpecs } from "./report-options.ts";

export const upOptionSpecs = {
  detach: { type: "boolean", short: "d", help: "return when it is ready; it goes on in the background" },
  log: { type: "boolean", help: "write the log to daemon.log in the data folder, not to standard error" },
  config: configOption,
  help: helpOption,
} as const satisfies OptionSpecs;

export interface UpPlan {
  detach: boolean;
  log: boolean;
  configFile?: string;
}

/** Undefined when help was asked for. */
export function parseUp(args: readonly string[]): UpPlan | undefined {
  const options = parseOptions(args, upOptionSpecs);
  if (options.flag("help")) return undefined;
  const [extra] = options.rest;
  if (extra !== undefined)
    throw new AppError("invalid", `'${extra}' is not expected here`, { hint: "--help says what is" });
  const configFile = options.text("config");
  return {
    detach: options.flag("detach"),
    log: options.flag("log"),
    ...(configFile === undefined ? {} : { configFile }),
  };
}

export function upHelpText(): string {
  return `usage: caisson up [OPTIONS]

Starts the daemon, which keeps sandboxes for others and answers on port 7420 of this machine (CAISSON_PORT). Stays in the
foreground until Ctrl-C or caisson down. As root the daemon itself runs as the user caisson, and only its engine as root.

${formatOptions(upOptionSpecs)}
`;
}

export function downHelpText(): string {
  return `usage: caisson down [OPTIONS]

Ends the daemon of this data folder once what is under way has ended. Its sandboxes live on, for the next one.

${formatOptions(reportOptionSpecs)}
`;
}

export function statusHelpText(): string {
  return `usage: caisson status [OPTIONS]

Says whether a daemon of this data folder runs, and where it listens. The exit code is 0 when one does.

${formatOptions(reportOptionSpecs)}
`;
}
