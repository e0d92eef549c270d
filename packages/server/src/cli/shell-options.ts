import { defined } from "../core/defined.ts";
import { AppError } from "../core/errors.ts";
import { requestLimits } from "../core/limits.ts";
import { type ParsedOptions, parseOptions } from "./options.ts";
import { namespaceOption } from "./report-options.ts";
import { type BoxPlan, readBox, runOptionSpecs } from "./run-options.ts";

const { language: _language, json: _json, "max-output": _output, ...shared } = runOptionSpecs;
const { config: _config, help: _help, ...ofItsOwn } = shared;

const mostSeconds = requestLimits.cpuTimeMs.max / 1000;

/** Those of `caisson run` that make sense for somebody who types. */
export const shellOptionSpecs = {
  ...shared,
  "cpu-time": {
    ...shared["cpu-time"],
    help: `CPU-seconds of all processes together (default and at most ${mostSeconds})`,
  },
  output: { ...shared.output, help: "copy what is left in /workspace/output to DIR" },
  namespace: { ...namespaceOption, help: "of SANDBOX, where it is not the key's own; for administrators" },
} as const;

/** A shell in a sandbox of its own. */
export interface ShellPlan extends BoxPlan {
  /** Empty for a shell. */
  command: string[];
  /** What the terminal calls itself. */
  terminalName: string;
}

/** A terminal in a sandbox that a daemon has. */
export interface DaemonShellPlan {
  sandboxId: string;
  /** Empty for a shell. */
  command: string[];
  namespace?: string;
  configFile?: string;
}

/** A sandbox that is there has its limits and its variables. */
function parseIn(options: ParsedOptions, command: string[]): DaemonShellPlan {
  const [sandboxId = "", extra] = options.rest;
  const hint = "caisson shell SANDBOX [-- COMMAND…]";
  if (extra !== undefined) throw new AppError("invalid", "a command stands behind --", { hint });
  const other = Object.keys(ofItsOwn).find((name) => options.texts(name).length > 0);
  if (other !== undefined)
    throw new AppError("invalid", `--${other} is for a sandbox of the shell's own, not for '${sandboxId}'`, { hint });
  return {
    sandboxId,
    command,
    ...defined({ namespace: options.text("namespace"), configFile: options.text("config") }),
  };
}

/** Undefined when help was asked for. */
export function parseShell(
  args: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
): ShellPlan | DaemonShellPlan | undefined {
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  const command = args.slice(end + 1);
  const options = parseOptions(args.slice(0, end), shellOptionSpecs);
  if (options.flag("help")) return undefined;
  if (options.rest.length > 0) return parseIn(options, command);
  if (options.text("namespace") !== undefined) throw new AppError("invalid", "--namespace is of a SANDBOX");
  const box = readBox(options, variables);
  const { TERM: name = "" } = variables;
  return {
    ...box,
    limits: { timeoutMs: 0, cpuTimeMs: requestLimits.cpuTimeMs.max, ...box.limits },
    command,
    terminalName: /^[\w.+-]{1,64}$/.test(name) ? name : "dumb",
  };
}
