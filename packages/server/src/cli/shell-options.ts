import { AppError } from "../core/errors.ts";
import { requestLimits } from "../core/limits.ts";
import { defined } from "../lib/defined.ts";
import { type ParsedOptions, parseOptions } from "./options.ts";
import { namespaceOption } from "./report-options.ts";
import { type BoxPlan, readBox, runOptionSpecs } from "./run-options.ts";

const { language: _language, json: _json, "max-output": _output, ...shared } = runOptionSpecs;
const { config: _config, help: _help, ...ofNewSandbox } = shared;

const mostSeconds = requestLimits.cpuTimeMs.max / 1000;

/** Options of `caisson run` that make sense for a terminal. */
export const shellOptionSpecs = {
  ...shared,
  "cpu-time": {
    ...shared["cpu-time"],
    help: `CPU time limit of all processes together (default and maximum: ${mostSeconds})`,
  },
  output: { ...shared.output, help: "copy /workspace/output to DIR after the shell ends" },
  namespace: { ...namespaceOption, help: "namespace of SANDBOX (administrators only; default: the key's own)" },
} as const;

/** A shell in a new sandbox. */
export interface ShellPlan extends BoxPlan {
  /** Empty for a shell. */
  command: string[];
  /** Value of TERM in the sandbox. */
  terminalName: string;
}

/** A terminal in an existing sandbox of a daemon. */
export interface DaemonShellPlan {
  sandboxId: string;
  /** Empty for a shell. */
  command: string[];
  namespace?: string;
  configFile?: string;
}

/** An existing sandbox already has its limits and variables, so most options are refused. */
function parseIn(options: ParsedOptions, command: string[]): DaemonShellPlan {
  const [sandboxId = "", extra] = options.rest;
  const hint = "caisson shell SANDBOX [-- COMMAND…]";
  if (extra !== undefined)
    throw new AppError("invalid", `unexpected argument '${extra}': put the command after --`, { hint });
  const other = Object.keys(ofNewSandbox).find((name) => options.texts(name).length > 0);
  if (other !== undefined)
    throw new AppError("invalid", `--${other} applies to new sandboxes only, not to '${sandboxId}'`, { hint });
  return {
    sandboxId,
    command,
    ...defined({ namespace: options.text("namespace"), configFile: options.text("config") }),
  };
}

/** Undefined when --help is given. */
export function parseShell(
  args: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
): ShellPlan | DaemonShellPlan | undefined {
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  const command = args.slice(end + 1);
  const options = parseOptions(args.slice(0, end), shellOptionSpecs);
  if (options.flag("help")) return undefined;
  if (options.rest.length > 0) return parseIn(options, command);
  if (options.text("namespace") !== undefined)
    throw new AppError("invalid", "--namespace requires SANDBOX", { hint: "caisson shell --namespace NAME SANDBOX" });
  const box = readBox(options, variables);
  const { TERM: name = "" } = variables;
  return {
    ...box,
    limits: { timeoutMs: 0, cpuTimeMs: requestLimits.cpuTimeMs.max, ...box.limits },
    command,
    terminalName: /^[\w.+-]{1,64}$/.test(name) ? name : "dumb",
  };
}
