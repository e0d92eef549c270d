import { AppError } from "../core/errors.ts";
import { formatOptions, type OptionSpecs, parseOptions } from "./options.ts";
import { configOption, helpOption, reportOptionSpecs } from "./report-options.ts";

export const upOptionSpecs = {
  detach: { type: "boolean", short: "d", help: "run in the background; return when the daemon is ready" },
  log: { type: "boolean", help: "write the log to daemon.log in the data folder instead of standard error" },
  config: configOption,
  help: helpOption,
} as const satisfies OptionSpecs;

export interface UpPlan {
  detach: boolean;
  log: boolean;
  configFile?: string;
}

/** Undefined when --help is given. */
export function parseUp(args: readonly string[]): UpPlan | undefined {
  const options = parseOptions(args, upOptionSpecs);
  if (options.flag("help")) return undefined;
  const [extra] = options.rest;
  if (extra !== undefined) throw new AppError("invalid", `unexpected argument '${extra}'`, { hint: "see --help" });
  const configFile = options.text("config");
  return {
    detach: options.flag("detach"),
    log: options.flag("log"),
    ...(configFile === undefined ? {} : { configFile }),
  };
}

export function upHelpText(): string {
  return `usage: caisson up [OPTIONS]

Starts the daemon, which manages sandboxes and serves the API on 127.0.0.1, port 7420 (CAISSON_LISTEN, CAISSON_PORT), by
HTTP, or by HTTPS with CAISSON_TLS_CERT_FILE and CAISSON_TLS_KEY_FILE; it uses new versions of these files without a restart.
Runs in the foreground until Ctrl-C or caisson down. If started as root, only the engine process runs as root; the daemon
itself runs as the user caisson.

${formatOptions(upOptionSpecs)}
`;
}

export function downHelpText(): string {
  return `usage: caisson down [OPTIONS]

Stops the daemon of this data folder; current requests have 10 seconds to finish. Sandboxes keep running for the next daemon.

${formatOptions(reportOptionSpecs)}
`;
}

export function statusHelpText(): string {
  return `usage: caisson status [OPTIONS]

Shows whether the daemon of this data folder is running, its address, and when its TLS certificate expires. Exits with 0 if it is running, with 1 if not.

${formatOptions(reportOptionSpecs)}
`;
}
