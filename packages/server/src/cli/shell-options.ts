import { requestLimits } from "../core/limits.ts";
import { parseOptions } from "./options.ts";
import { type BoxPlan, readBox, runOptionSpecs } from "./run-options.ts";

const { language: _language, json: _json, "max-output": _output, ...shared } = runOptionSpecs;

const mostSeconds = requestLimits.cpuTimeMs.max / 1000;

/** Those of `caisson run` that make sense for somebody who types. */
export const shellOptionSpecs = {
  ...shared,
  "cpu-time": {
    ...shared["cpu-time"],
    help: `CPU-seconds of all processes together (default and at most ${mostSeconds})`,
  },
  output: { ...shared.output, help: "copy what is left in /workspace/output to DIR" },
} as const;

/** What `caisson shell` was asked to do. */
export interface ShellPlan extends BoxPlan {
  /** Empty for a shell. */
  command: string[];
  /** What the terminal calls itself. */
  terminalName: string;
}

/** Undefined when help was asked for. */
export function parseShell(
  args: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
): ShellPlan | undefined {
  const options = parseOptions(args, shellOptionSpecs);
  if (options.flag("help")) return undefined;
  const box = readBox(options, variables);
  const { TERM: name = "" } = variables;
  return {
    ...box,
    limits: { timeoutMs: 0, cpuTimeMs: requestLimits.cpuTimeMs.max, ...box.limits },
    command: options.rest,
    terminalName: /^[\w.+-]{1,64}$/.test(name) ? name : "dumb",
  };
}
